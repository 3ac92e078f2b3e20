package cert

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// An API server that read the authorities any time within the overlap accepts
// every leaf, and one that reads them now accepts every leaf still served.
func TestNextNeverBreaksTrustOverYears(t *testing.T) {
	t.Parallel()
	const step = 6 * time.Hour
	b := first(t)
	published := [][]byte{b.CABundle()} // of the last day, newest last
	rotations := 0
	for now := start; now.Before(start.Add(3 * 365 * day)); now = now.Add(step) {
		next, changed := mustNext(t, b, now)
		published = append(published, next.CABundle())
		published = published[max(0, len(published)-int(day/step)):]
		if !changed {
			continue
		}
		accepted(t, b.Leaf.Certificate, next.CABundle(), now, names[0])
		accepted(t, next.Leaf.Certificate, published[0], now, names[0])
		if !next.CA.Certificate.Equal(b.CA.Certificate) {
			rotations++
		}
		b = mustParse(t, mustData(t, next))
	}
	if rotations != 4 {
		t.Errorf("%d rotations in three years, want 4", rotations)
	}
}

// Whatever happens to the stored data and the clock, one call puts it right,
// and what it made is stable.
func TestNextRepairsAnything(t *testing.T) {
	t.Parallel()
	keys := []string{KeyCAs, KeyCAKeys, KeyCertificate, KeyPrivateKey}
	rapid.Check(t, func(rt *rapid.T) {
		now := start
		b := &Bundle{}
		other := mustData(t, first(t))
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(-48, 400*24).Draw(rt, "hours")) * time.Hour)
			next, _, err := Next(b, names, now, Policy{})
			if err != nil {
				rt.Fatal(err)
			}
			accepted(t, next.Leaf.Certificate, next.CABundle(), now, names...)
			data := mustData(t, next)
			if again, changed := mustNext(t, mustParse(t, data), now); changed {
				rt.Fatalf("not stable: %d authorities, then %d", len(next.Authorities()), len(again.Authorities()))
			}
			if len(next.Authorities()) > maxPrevious+2 {
				rt.Fatalf("%d authorities are trusted", len(next.Authorities()))
			}
			key := rapid.SampledFrom(keys).Draw(rt, "key")
			switch rapid.IntRange(0, 4).Draw(rt, "harm") {
			case 0:
				delete(data, key)
			case 1:
				data[key] = data[key][:len(data[key])/2]
			case 2:
				data[key] = other[key]
			case 3:
				data[key] = append(data[key], other[key]...)
			}
			if b, err = Parse(data); err != nil && !errors.Is(err, ErrData) {
				rt.Fatalf("error %v, want one of data", err)
			}
		}
	})
}
