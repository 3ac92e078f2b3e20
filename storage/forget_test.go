package storage

import (
	"encoding/json"
	"testing"
)

func TestAMarkerWithoutAHandler(t *testing.T) {
	t.Parallel()
	object := Identity{UID: "u"}
	both := Marker{State: Failed, Handled: &Handled{Identity: object, Essence: "e", By: map[string]Entry{"a": {}, "b": {}}}, Paused: true}
	both = both.WithRecord(object, "a", Record{State: Failed}).WithStatus("a", json.RawMessage(`{}`))
	left := both.Without([]string{"a", "c"})
	if left.Names("a") || !left.Names("b") || left.Progress != nil || left.Status != nil {
		t.Errorf("left %+v", left)
	}
	if !both.Names("a") {
		t.Error("the marker that it was made of has changed")
	}
	if none := left.Without([]string{"b"}); !none.Equal(Marker{Paused: true}) {
		t.Errorf("what users wrote alone has to stay: %+v", none)
	}
	if same := both.Without([]string{"c"}); !same.Equal(both) {
		t.Errorf("changed by a handler that it doesn't name: %+v", same)
	}
}
