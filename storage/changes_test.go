package storage

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const (
	handledText  = `{"v":1,"uid":"u","essence":"e","by":{"a":{}}}`
	progressText = `{"v":1,"uid":"u","handlers":{"a":{"cause":"Update","state":"Pending"}}}`
)

func TestChanges(t *testing.T) {
	t.Parallel()
	guard := func(name, text string) Change {
		return Change{Key: "dogear.dev/" + name, Old: text, Was: text != "", Same: true}
	}
	for _, c := range []struct {
		rule        string
		annotations map[string]string
		next        func(Marker) Marker
		want        []Change
	}{
		{"nothing new, nothing to write", map[string]string{"dogear.dev/state": "Pending", "dogear.dev/progress": progressText},
			func(m Marker) Marker { return m }, nil},
		{"no marker, no write", nil, func(m Marker) Marker { return m }, nil},
		{"the same in other words stays", map[string]string{
			"dogear.dev/handled":  `{"by": {"a":{}}, "essence":"e","uid":"u", "v":1}`,
			"dogear.dev/progress": "\n" + progressText},
			func(m Marker) Marker {
				return m.WithRecord(Identity{UID: "u"}, "a", Record{Cause: Update, State: Pending})
			}, nil},
		{"a first state is guarded by the absence of documents", map[string]string{"example.com/a": "b"},
			func(m Marker) Marker { m.State = Pending; return m },
			[]Change{{Key: "dogear.dev/state", New: "Pending"}, guard("handled", ""), guard("progress", "")}},
		{"a changed record is guarded by what is handled", map[string]string{"dogear.dev/handled": handledText, "dogear.dev/progress": progressText},
			func(m Marker) Marker {
				return m.WithRecord(Identity{UID: "u"}, "a", Record{Cause: Update, State: Failed})
			},
			[]Change{guard("handled", handledText), {Key: "dogear.dev/progress", Old: progressText, Was: true,
				New: `{"v":1,"uid":"u","handlers":{"a":{"cause":"Update","state":"Failed"}}}`}}},
		{"the last record goes", map[string]string{"dogear.dev/state": "Pending", "dogear.dev/progress": progressText, "dogear.dev/retry": "*"},
			func(m Marker) Marker { m.Retry, m.State = "", Succeeded; return m.WithoutRecord("a") },
			[]Change{{Key: "dogear.dev/state", Old: "Pending", Was: true, New: "Succeeded"}, guard("handled", ""),
				{Key: "dogear.dev/progress", Old: progressText, Was: true}, {Key: "dogear.dev/retry", Old: "*", Was: true}}},
		{"all goes, but paused", map[string]string{"dogear.dev/state": "Pending", "dogear.dev/base": "H4", "dogear.dev/status": `{"a":1}`, "dogear.dev/paused": "true"},
			func(Marker) Marker { return Marker{} },
			[]Change{{Key: "dogear.dev/state", Old: "Pending", Was: true}, guard("handled", ""), guard("progress", ""),
				{Key: "dogear.dev/status", Old: `{"a":1}`, Was: true}, {Key: "dogear.dev/base", Old: "H4", Was: true}}},
		{"paused is the user's", nil, func(m Marker) Marker { m.Paused = true; return m }, nil},
		{"an empty annotation goes", map[string]string{"dogear.dev/base": ""}, func(m Marker) Marker { return m },
			[]Change{guard("handled", ""), guard("progress", ""), {Key: "dogear.dev/base", Was: true}}},
		{"a document without records goes", map[string]string{"dogear.dev/progress": `{"v":1,"uid":"u","handlers":{}}`}, func(m Marker) Marker { return m },
			[]Change{guard("handled", ""), {Key: "dogear.dev/progress", Old: `{"v":1,"uid":"u","handlers":{}}`, Was: true}}},
		{"a broken document is replaced", map[string]string{"dogear.dev/handled": "{"},
			func(m Marker) Marker { m.Handled = &Handled{Identity: Identity{UID: "u"}}; return m },
			[]Change{{Key: "dogear.dev/handled", Old: "{", Was: true, New: `{"v":1,"uid":"u","by":{}}`}, guard("progress", "")}},
		{"a newer document stays, whatever comes", map[string]string{"dogear.dev/handled": `{"v":2}`},
			func(m Marker) Marker { m.Handled, m.State = &Handled{}, Failed; return m },
			[]Change{{Key: "dogear.dev/state", New: "Failed"}, guard("handled", `{"v":2}`), guard("progress", "")}},
		{"a newer document is no change", map[string]string{"dogear.dev/handled": `{"v":2}`, "dogear.dev/progress": `{"v":3}`}, func(m Marker) Marker { return m }, nil},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			old, _ := ServicePrefix.Read(c.annotations)
			if diff := cmp.Diff(c.want, ServicePrefix.Changes(c.annotations, old, c.next(old))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestChangesLeadFromOneMarkerToAnother applies changes as a patch does.
func TestChangesLeadFromOneMarkerToAnother(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := genMarker().Draw(t, "from"), genMarker().Draw(t, "to")
		to.Paused = from.Paused
		annotations := ServicePrefix.Render(from)
		annotations["example.com/a"] = "b"
		after := maps.Clone(annotations)
		for _, c := range ServicePrefix.Changes(annotations, from, to) {
			text, was := annotations[c.Key]
			if was != c.Was || text != c.Old {
				t.Fatalf("%s: guard says %v %q, there is %v %q", c.Key, c.Was, c.Old, was, text)
			}
			switch {
			case c.Same:
			case c.New == "":
				delete(after, c.Key)
			default:
				after[c.Key] = c.New
			}
		}
		want := ServicePrefix.Render(to)
		want["example.com/a"] = "b"
		if diff := cmp.Diff(want, after); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if left := ServicePrefix.Changes(after, to, to); left != nil {
			t.Fatalf("still to do: %v", left)
		}
	})
}
