package demo

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/storage"
)

const prefix storage.Prefix = "dogear.demo.example.com"

var identity = storage.Identity{UID: "u1"}

// version is a version of Certificate/shop that carries a marker.
func version(m storage.Marker) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.Kind, o.Name, o.UID, o.Annotations = "Certificate", "shop", "u1", prefix.Render(m)
	return o
}

func record(m storage.Marker, id string, state storage.State, attempts int) storage.Marker {
	m.State = state
	return m.WithRecord(identity, id, storage.Record{State: state, Attempts: attempts, Essence: "e"})
}

func handled(ids ...string) storage.Marker {
	by := map[string]storage.Entry{}
	for _, id := range ids {
		by[id] = storage.Entry{}
	}
	return storage.Marker{State: storage.Succeeded, Handled: &storage.Handled{Identity: identity, Essence: "e", By: by}}
}

func TestBoardCountsAttempts(t *testing.T) {
	b := newBoard(prefix)
	for i, step := range []struct {
		marker storage.Marker
		want   string // "state attempts"
	}{
		{record(storage.Marker{}, "a", storage.Pending, 0), "Pending 0"},
		{record(storage.Marker{}, "a", storage.Retrying, 1), "Retrying 1"},
		{record(storage.Marker{}, "a", storage.Retrying, 2), "Retrying 2"},
		{handled("a"), "Succeeded 3"},
		{record(handled("a"), "a", storage.Pending, 0), "Pending 0"}, // it has changed
		{record(handled("a"), "a", storage.Waiting, 0), "Waiting 0"},
		{handled("a"), "Succeeded 1"},
	} {
		changes := b.observe(version(step.marker), false)
		if len(changes) != 1 {
			t.Fatalf("step %d: %d changes, want 1: %+v", i, len(changes), changes)
		}
		got := string(changes[0].State) + " " + string(rune('0'+changes[0].Attempts))
		if got != step.want || changes[0].Object != "Certificate/shop" {
			t.Errorf("step %d: %s of %s, want %s", i, got, changes[0].Object, step.want)
		}
		if again := b.observe(version(step.marker), false); len(again) != 0 {
			t.Errorf("step %d: the same again is a change: %+v", i, again)
		}
	}
}

func TestBoardKnowsSucceededRecords(t *testing.T) {
	b := newBoard(prefix)
	m := record(record(storage.Marker{}, "quick", storage.Succeeded, 1), "slow", storage.Pending, 0)
	b.observe(version(m), false)
	b.observe(version(handled("quick", "slow")), false)
	objects, _ := b.look()
	for _, s := range objects[0].Handlers {
		if s.State != storage.Succeeded || s.Attempts != 1 {
			t.Errorf("%s: %s in %d attempts, want Succeeded in 1", s.Handler, s.State, s.Attempts)
		}
	}
}

func TestBoardOfDeletion(t *testing.T) {
	b := newBoard(prefix)
	o := version(record(handled("a"), "a", storage.Waiting, 0))
	o.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	o.Finalizers = []string{prefix.Finalizer()}
	b.observe(o, false)
	objects, changed := b.look()
	if !objects[0].Deleting || !objects[0].Held {
		t.Errorf("want an object in deletion that is held: %+v", objects[0])
	}
	changes := b.observe(o, true)
	select {
	case <-changed:
	default:
		t.Error("nobody was told of the change")
	}
	if len(changes) != 1 || changes[0].State != gone || changes[0].Attempts != 1 {
		t.Errorf("want one that is gone, in 1 attempt: %+v", changes)
	}
	objects, _ = b.look()
	if objects[0].State != gone || objects[0].Held {
		t.Errorf("want an object that is gone and not held: %+v", objects[0])
	}
}

func TestBoardIgnoresForeignObjectsAndBadMarkers(t *testing.T) {
	b := newBoard(prefix)
	o := version(storage.Marker{})
	o.Annotations = map[string]string{"dogear.other.example.com/state": "Failed"}
	b.observe(o, false)
	b.observe(o, true)
	if objects, _ := b.look(); len(objects) != 0 {
		t.Errorf("want no object: %+v", objects)
	}
	o.Annotations = map[string]string{prefix.Key("state"): "Failed", prefix.Key("progress"): "no JSON"}
	b.observe(o, false)
	if objects, _ := b.look(); len(objects) != 1 || objects[0].State != storage.Failed {
		t.Errorf("want what can be read: %+v", objects)
	}
}

func TestJudge(t *testing.T) {
	expected := []Expected{
		{Object: "Certificate/a", Handlers: map[string]storage.State{"x": storage.Succeeded}},
		{Object: "Service/b", Gone: true},
	}
	ended := func(state storage.State, message string) object {
		return object{Kind: "Certificate", Name: "a", State: state, Handlers: []standing{{Handler: "x", State: state, Message: message}}}
	}
	b := object{Kind: "Service", Name: "b", State: gone}
	for _, c := range []struct {
		name        string
		objects     []object
		open, wrong string
	}{
		{"as expected", []object{ended(storage.Succeeded, ""), b}, "", ""},
		{"failed", []object{ended(storage.Failed, "too bad\x1b[2J"), b}, "", `Certificate/a: the handler "x" is Failed, expected was Succeeded: too bad`},
		{"unfinished", []object{ended(storage.Retrying, ""), b}, "Certificate/a has not ended (x Retrying)", ""},
		{"not seen", []object{b}, "Certificate/a was not handled at all", ""},
		{"not run", []object{{Kind: "Certificate", Name: "a", State: storage.Succeeded}, b}, "", `Certificate/a: the handler "x" did not run, expected was Succeeded`},
		{"gone", []object{{Kind: "Certificate", Name: "a", State: gone}, b}, "", "Certificate/a is gone, though nobody deleted it"},
		{"not gone", []object{ended(storage.Succeeded, ""), {Kind: "Service", Name: "b", State: storage.Waiting, Deleting: true}}, "Service/b is still there (being deleted)", ""},
		{"made again", []object{b, ended(storage.Failed, ""), ended(storage.Succeeded, "")}, "", ""},
	} {
		open, wrong := judge(c.objects, expected)
		if got := strings.Join(open, "; "); got != c.open {
			t.Errorf("%s: open: %q, want %q", c.name, got, c.open)
		}
		if got := strings.Join(wrong, "; "); got != c.wrong {
			t.Errorf("%s: wrong: %q, want %q", c.name, got, c.wrong)
		}
	}
}
