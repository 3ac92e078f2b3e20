package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func payload(size int) json.RawMessage {
	return json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
}

// rich has something of everything that can be given up.
func rich() Marker {
	m := Marker{State: Failed, Base: strings.Repeat("b", 1000), Handled: &Handled{Identity: Identity{UID: "u"}, Essence: "e", By: map[string]Entry{"a": {}}}}
	m = m.WithRecord(Identity{UID: "u"}, "a", Record{Cause: Update, State: Failed, Message: strings.Repeat("m", 1000), By: strings.Repeat("u", 1000)})
	return m.WithStatus("a", payload(1000)).WithStatus("b", payload(3000)).WithStatus("c", payload(2000)).WithStatus("tiny", payload(maxNote))
}

func size(m Marker) int { return Size(ServicePrefix.Render(m)) }

func TestFitGivesUpOneAfterTheOther(t *testing.T) {
	t.Parallel()
	order := []string{"base", "message", "by", "status:b", "status:c", "status:a"}
	m := rich()
	for steps := range len(order) + 1 {
		want := slices.Clone(order[:steps])
		fitted, cut, err := Budget{Marker: size(m)}.Fit(ServicePrefix, nil, rich())
		if err != nil || !slices.Equal(cut, want) || size(fitted) != size(m) {
			t.Fatalf("step %d: cut %v, %v; size %d, want %d", steps, cut, err, size(fitted), size(m))
		}
		if _, cut, _ := (Budget{Marker: size(m) - 1}).Fit(ServicePrefix, nil, rich()); steps < len(order) && len(cut) != steps+1 {
			t.Fatalf("step %d: a byte less cuts %v", steps, cut)
		}
		m, _, _ = Budget{Marker: size(m) - 1}.Fit(ServicePrefix, nil, m)
	}
	if m.Base != "" || m.Progress.Handlers["a"].Message != "" || m.Progress.Handlers["a"].By != "" || string(m.Status["b"]) != string(TooLarge(3000)) || len(m.Status["tiny"]) != maxNote {
		t.Errorf("left: %v", ServicePrefix.Render(m))
	}
	if _, _, err := (Budget{Marker: size(m) - 1}).Fit(ServicePrefix, nil, m); !errors.Is(err, ErrNoRoom) {
		t.Errorf("below the smallest: %v", err)
	}
}

func TestFitChangesNothingThatFits(t *testing.T) {
	t.Parallel()
	fitted, cut, err := Budget{}.Fit(ServicePrefix, nil, rich())
	if diff := cmp.Diff(fields(rich()), fields(fitted), everything); diff != "" || cut != nil || err != nil {
		t.Errorf("cut %v, %v\n%s", cut, err, diff)
	}
}

func TestFitNamesOnlyWhatItGaveUp(t *testing.T) {
	t.Parallel()
	m := Marker{State: Pending}.WithRecord(Identity{UID: "u"}, "a", Record{Cause: Create, State: Pending, By: "alice"})
	_, cut, err := Budget{Marker: size(m) - 1}.Fit(ServicePrefix, nil, m)
	if err != nil || !slices.Equal(cut, []string{"by"}) {
		t.Errorf("cut %v, %v", cut, err)
	}
}

func TestTheServersLimitIsExact(t *testing.T) {
	t.Parallel()
	m := Marker{State: Pending}
	key := "example.com/large"
	room := ServerLimit - size(m) - len(key)
	for extra, want := range map[int]error{0: nil, 1: ErrNoRoom} {
		annotations := map[string]string{key: strings.Repeat("x", room+extra), "dogear.dev/base": strings.Repeat("x", 9000), "dogear.dev/state": "Succeeded"}
		fitted, _, err := Budget{}.Fit(ServicePrefix, annotations, m)
		if !errors.Is(err, want) {
			t.Errorf("%d bytes too many: %v", extra, err)
		}
		total := Size(map[string]string{key: annotations[key]}) + size(fitted)
		if (total <= ServerLimit) != (err == nil) {
			t.Errorf("%d bytes in total, %v", total, err)
		}
	}
}

func TestAnnotationsThatStayCount(t *testing.T) {
	t.Parallel()
	m := Marker{State: Pending, Paused: true}
	for name, annotations := range map[string]map[string]string{
		"of a newer release":           {"dogear.dev/future": strings.Repeat("x", DefaultMarkerLimit)},
		"an oversized pause":           {"dogear.dev/paused": strings.Repeat("x", DefaultMarkerLimit)},
		"a pause that isn't one":       {"dogear.dev/paused": strings.Repeat(" ", ServerLimit)},
		"another operator's":           {"dogear.other/state": strings.Repeat("x", ServerLimit)},
		"a longer prefix than our own": {"dogear.dev.x/state": strings.Repeat("x", ServerLimit)},
	} {
		if _, _, err := (Budget{}).Fit(ServicePrefix, annotations, m); !errors.Is(err, ErrNoRoom) {
			t.Errorf("%s: %v", name, err)
		}
	}
	paused := map[string]string{"dogear.dev/paused": "true"}
	if _, _, err := (Budget{Marker: size(m)}).Fit(ServicePrefix, paused, m); err != nil {
		t.Errorf("paused counts twice: %v", err)
	}
}

func TestAPayloadAboveItsLimitLeavesANote(t *testing.T) {
	t.Parallel()
	m := Marker{}.WithStatus("a", payload(DefaultPayloadLimit)).WithStatus("b", payload(DefaultPayloadLimit+1))
	fitted, cut, err := Budget{}.Fit(ServicePrefix, nil, m)
	if err != nil || !slices.Equal(cut, []string{"status:b"}) || len(fitted.Status["a"]) != DefaultPayloadLimit {
		t.Errorf("cut %v, %v", cut, err)
	}
	if got := string(fitted.Status["b"]); got != `{"dogear":"payload of 16385 bytes left out"}` || !json.Valid(fitted.Status["b"]) {
		t.Errorf("note is %s", got)
	}
	if _, cut, _ := (Budget{}).Fit(ServicePrefix, nil, fitted); cut != nil {
		t.Errorf("the note was cut: %v", cut)
	}
}

func TestThirtyHandlersWithTheLongestIDsFit(t *testing.T) {
	t.Parallel()
	m := Marker{State: Retrying, Handled: &Handled{Identity: Identity{UID: "u"}, Essence: "e", By: map[string]Entry{}}}
	at := time.Date(2026, 3, 1, 10, 0, 0, 1e6, time.UTC)
	for i := range 30 {
		id := fmt.Sprintf("%0253d", i)
		m.Handled.By[id] = Entry{Digest: strings.Repeat("d", 22), Revision: 1}
		m = m.WithRecord(Identity{UID: "u"}, id, Record{Cause: Update, State: Retrying, Essence: strings.Repeat("e", 22), Attempts: 100, Claimed: true,
			Started: at, Next: at, Reason: "Timeout", Message: strings.Repeat("m", MaxMessage), By: "system:serviceaccount:web:deployer", Revision: 1})
	}
	if _, cut, err := (Budget{}).Fit(ServicePrefix, nil, m); err != nil || cut != nil {
		t.Errorf("of %d bytes cut %v, %v", size(m), cut, err)
	}
}

func TestFitKeepsItsPromise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genMarker().Draw(t, "marker").WithStatus("large", payload(rapid.IntRange(2, 400).Draw(t, "payload")))
		b := Budget{Marker: rapid.IntRange(1, 2000).Draw(t, "limit"), Payload: rapid.IntRange(1, 200).Draw(t, "payload limit")}
		fitted, cut, err := b.Fit(ServicePrefix, nil, m)
		if (size(fitted) <= b.Marker) != (err == nil) {
			t.Fatalf("%d of %d bytes, %v", size(fitted), b.Marker, err)
		}
		if (size(fitted) != size(m)) != (cut != nil) {
			t.Fatalf("%d → %d bytes, cut %v", size(m), size(fitted), cut)
		}
		if again, cut, _ := b.Fit(ServicePrefix, nil, fitted); cut != nil || size(again) != size(fitted) {
			t.Fatalf("a second time cuts %v", cut)
		}
	})
}
