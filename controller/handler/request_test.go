package handler_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dogear-dev/dogear/controller/handler"
)

func TestPayload(t *testing.T) {
	t.Parallel()
	type phase struct{ Phase string }
	info := handler.Info{Payloads: map[string]json.RawMessage{"dns": json.RawMessage(`{"phase":"Ready"}`), "bad": json.RawMessage(`[1]`)}}

	var got phase
	if ok, err := info.Payload("dns", &got); !ok || err != nil || got.Phase != "Ready" {
		t.Errorf("got %v, %v, %+v: want the payload", ok, err, got)
	}
	got = phase{"mine"}
	if ok, err := info.Payload("none", &got); ok || err != nil || got.Phase != "mine" {
		t.Errorf("got %v, %v, %+v: want nothing touched where there is none", ok, err, got)
	}
	ok, err := info.Payload("bad", &got)
	if !ok || err == nil || !strings.HasPrefix(err.Error(), `payload of handler "bad": `) {
		t.Errorf("got %v, %v: want an error that names the handler", ok, err)
	}
	if ok, err := new(handler.Info).Payload("dns", &got); ok || err != nil {
		t.Errorf("got %v, %v: want none", ok, err)
	}
}
