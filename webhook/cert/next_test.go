package cert

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"errors"
	"testing"
	"time"
)

func TestNextMakesAFirstBundle(t *testing.T) {
	t.Parallel()
	b, changed := mustNext(t, nil, start)
	if !changed {
		t.Error("the first bundle does not count as a change")
	}
	accepted(t, b.Leaf.Certificate, b.CABundle(), start, names...)
	if got, want := b.CA.Certificate.NotAfter, start.Add(365*day); !got.Equal(want) {
		t.Errorf("authority expires at %s, want %s", got, want)
	}
	if got, want := b.Leaf.Certificate.NotAfter, start.Add(7*day); !got.Equal(want) {
		t.Errorf("leaf expires at %s, want %s", got, want)
	}
	if key, ok := b.CA.Key.(*ecdsa.PrivateKey); !ok || key.Curve != elliptic.P256() {
		t.Errorf("authority has a key of type %T, want ECDSA P-256", b.CA.Key)
	}
	if b.Leaf.Certificate.IsCA {
		t.Error("the leaf can sign")
	}
	if _, changed := mustNext(t, b, start); changed {
		t.Error("a second call at the same time changes the bundle")
	}
}

func TestNextAcceptsAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	b := first(t)
	accepted(t, b.Leaf.Certificate, b.CABundle(), start.Add(-59*time.Minute), names...)
}

func TestNextRenewsTheLeafAtTwoThirds(t *testing.T) {
	t.Parallel()
	b := first(t)
	renewal := start.Add(7 * day * 2 / 3)
	if _, changed := mustNext(t, b, renewal.Add(-time.Second)); changed {
		t.Error("renewed too early")
	}
	next, changed := mustNext(t, b, renewal)
	if !changed {
		t.Fatal("not renewed at two thirds")
	}
	if !next.CA.Certificate.Equal(b.CA.Certificate) {
		t.Error("the authority changed with the leaf")
	}
	if next.Leaf.matches(b.Leaf.Key) {
		t.Error("the leaf kept its key")
	}
	accepted(t, next.Leaf.Certificate, b.CABundle(), renewal, names...)
}

func TestNextLeavesItsArgumentAlone(t *testing.T) {
	t.Parallel()
	b := first(t)
	before := mustData(t, b)
	for now := start; now.Before(start.Add(800 * day)); now = now.Add(100 * day) {
		mustNext(t, b, now)
	}
	for key, want := range before {
		if got := mustData(t, b)[key]; !bytes.Equal(got, want) {
			t.Errorf("%s changed", key)
		}
	}
}

func TestNextRotatesTheAuthorityInSteps(t *testing.T) {
	t.Parallel()
	old := first(t)
	rotation := start.Add(365 * day * 2 / 3)
	old, _ = mustNext(t, old, rotation.Add(-time.Second)) // a fresh leaf

	published, changed := mustNext(t, old, rotation)
	if !changed || published.Next == nil {
		t.Fatal("no new authority is published at two thirds")
	}
	if !published.Leaf.Certificate.Equal(old.Leaf.Certificate) {
		t.Error("the leaf changed when the new authority was published")
	}
	if got := len(published.Authorities()); got != 2 {
		t.Errorf("%d authorities are published, want the old and the new", got)
	}

	if _, changed := mustNext(t, published, rotation.Add(day-time.Second)); changed {
		t.Error("changed before the overlap was over")
	}
	switched, changed := mustNext(t, published, rotation.Add(day))
	if !changed || !switched.CA.Certificate.Equal(published.Next.Certificate) {
		t.Fatal("the new authority does not sign after the overlap")
	}
	if err := switched.Leaf.Certificate.CheckSignatureFrom(switched.CA.Certificate); err != nil {
		t.Errorf("the leaf is not of the new authority: %v", err)
	}
	accepted(t, switched.Leaf.Certificate, published.CABundle(), rotation.Add(day), names...)
	accepted(t, old.Leaf.Certificate, switched.CABundle(), rotation.Add(day), names...)
	if keys, err := decodeKeys(KeyCAKeys, mustData(t, switched)[KeyCAKeys]); err != nil || len(keys) != 1 {
		t.Errorf("%d authority keys are kept after the switch, want 1 (%v)", len(keys), err)
	}

	expired := start.Add(365*day + time.Second)
	late, _ := mustNext(t, switched, expired)
	if got := len(late.Previous); got != 0 {
		t.Errorf("%d former authorities are trusted after they expired", got)
	}
}

func TestNextReissuesTheLeafDuringARotation(t *testing.T) {
	t.Parallel()
	rotation := start.Add(365 * day * 2 / 3)
	published, _ := mustNext(t, first(t), rotation)
	other := []string{"other.example.com"}
	next, changed, err := Next(published, other, rotation.Add(time.Hour), Policy{})
	if err != nil || !changed {
		t.Fatalf("changed %t, error %v", changed, err)
	}
	if next.Next == nil {
		t.Fatal("the rotation was cut short")
	}
	onlyOld := encodeCertificates(published.CA.Certificate)
	accepted(t, next.Leaf.Certificate, onlyOld, rotation.Add(time.Hour), other...)
}

func TestNextFollowsNames(t *testing.T) {
	t.Parallel()
	b, _, err := Next(nil, []string{"B.example.com", "10.0.0.1", "a.example.com"}, start, Policy{})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		names []string
		want  bool
	}{
		"the same in another order": {[]string{"a.example.com", "b.example.com", "10.0.0.1"}, false},
		"repeated":                  {[]string{"a.example.com", "a.example.com", "b.example.com", "10.0.0.1"}, false},
		"mapped address":            {[]string{"a.example.com", "b.example.com", "::ffff:10.0.0.1"}, false},
		"one name more":             {[]string{"a.example.com", "b.example.com", "c.example.com", "10.0.0.1"}, true},
		"one name fewer":            {[]string{"a.example.com", "10.0.0.1"}, true},
		"another address":           {[]string{"a.example.com", "b.example.com", "10.0.0.2"}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next, changed, err := Next(b, test.names, start, Policy{})
			if err != nil || changed != test.want {
				t.Fatalf("changed %t, want %t, error %v", changed, test.want, err)
			}
			accepted(t, next.Leaf.Certificate, b.CABundle(), start, test.names...)
		})
	}
}

func TestNextRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		names  []string
		policy Policy
		want   error
	}{
		"no name":             {nil, Policy{}, ErrNames},
		"a name with a space": {[]string{"a b"}, Policy{}, ErrNames},
		"an empty name":       {[]string{""}, Policy{}, ErrNames},
		"a very short leaf":   {names, Policy{LeafValidity: time.Second}, ErrPolicy},
		"a negative overlap":  {names, Policy{Overlap: -time.Hour}, ErrPolicy},
		"a leaf that outlives its authority": {names, Policy{
			CAValidity: 10 * day, LeafValidity: 4 * day, Overlap: time.Hour}, ErrPolicy},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, _, err := Next(nil, test.names, start, test.policy); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}
