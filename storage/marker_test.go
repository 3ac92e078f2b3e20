package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// fields are a marker that cmp compares by its fields, and not by Equal.
type fields Marker

// everything makes cmp compare the unknown fields, too.
var everything = cmp.AllowUnexported(Handled{}, Progress{}, Entry{}, Record{})

func TestMarkersSurviveWritingAndReading(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := genMarker().Draw(t, "marker")
		texts := ServicePrefix.Render(m)
		back, err := ServicePrefix.Read(texts)
		if err != nil {
			t.Fatalf("%v in %v", err, texts)
		}
		if diff := cmp.Diff(fields(m), fields(back), everything); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
		if diff := cmp.Diff(texts, ServicePrefix.Render(back)); diff != "" {
			t.Fatalf("equal markers render to different texts:\n%s", diff)
		}
		for key, text := range texts {
			if key == "dogear.dev/handled" || key == "dogear.dev/progress" || key == "dogear.dev/status" {
				if !json.Valid([]byte(text)) {
					t.Fatalf("%s is no JSON: %s", key, text)
				}
			}
		}
	})
}

func TestRenderedMarkersLookAsDocumented(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 11, 0, 0, 250_999_999, time.FixedZone("CET", 3600))
	m := Marker{
		State:   Retrying,
		Handled: &Handled{Identity: Identity{UID: "u"}, Essence: "e", Generation: 3, By: map[string]Entry{"notify": {Digest: "d", Revision: 2}, "issue": {}}},
		Progress: &Progress{Identity: Identity{Namespace: "web", Name: "shop", Kind: "Certificate"}, Handlers: map[string]Record{
			"issue": {Cause: Update, State: Retrying, Essence: "e", Attempts: 2, Claimed: true, Started: at, Next: at.Add(time.Second), Reason: "Timeout", Message: "a \"b\"", By: "alice", Revision: 1},
			"a":     {Cause: Create, State: Pending},
		}},
		Status: map[string]json.RawMessage{"issue": json.RawMessage(`{"serial": 1}`)},
		Base:   "H4sI", Retry: "*", Paused: true,
	}
	want := map[string]string{
		"dogear.dev/state":   "Retrying",
		"dogear.dev/handled": `{"v":1,"uid":"u","essence":"e","generation":3,"by":{"issue":{},"notify":{"digest":"d","revision":2}}}`,
		"dogear.dev/progress": `{"v":1,"object":{"namespace":"web","name":"shop","kind":"Certificate"},"handlers":{"a":{"cause":"Create","state":"Pending"},` +
			`"issue":{"cause":"Update","state":"Retrying","essence":"e","attempts":2,"claimed":true,"started":"2026-03-01T10:00:00.25Z","next":"2026-03-01T10:00:01.25Z",` +
			`"reason":"Timeout","message":"a \"b\"","by":"alice","revision":1}}}`,
		"dogear.dev/status": `{"issue":{"serial": 1}}`,
		"dogear.dev/base":   "H4sI", "dogear.dev/retry": "*", "dogear.dev/paused": "true",
	}
	if diff := cmp.Diff(want, ServicePrefix.Render(m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ServicePrefix.Render(Marker{}); len(got) != 0 {
		t.Errorf("the zero marker renders to %v", got)
	}
}

func TestUnknownFieldsSurviveAtEveryLevel(t *testing.T) {
	t.Parallel()
	for key, text := range map[string]string{
		"dogear.dev/handled":  `{"v":1,"object":{"name":"n","kind":"K","new":[1]},"by":{"a":{"digest":"d","new":{"x": 1}}},"new":1.0}`,
		"dogear.dev/progress": `{"v":1,"object":{"name":"n","kind":"K","new":{}},"handlers":{"a":{"cause":"Update","state":"Dreaming","new":"x"}},"new":null}`,
	} {
		m, err := ServicePrefix.Read(map[string]string{key: text})
		if err != nil {
			t.Fatal(err)
		}
		if got := ServicePrefix.Render(m)[key]; got != text {
			t.Errorf("%s is\n%s, want\n%s", key, got, text)
		}
		next := m.WithRecord(Identity{UID: "u"}, "b", Record{Cause: Create, State: Pending})
		if got := ServicePrefix.Render(next)[key]; strings.Count(got, `"new"`) < 2 {
			t.Errorf("after another record, %s is %s", key, got)
		}
	}
}

func TestReadTakesEquivalentTexts(t *testing.T) {
	t.Parallel()
	want := Marker{
		Handled: &Handled{Identity: Identity{UID: "u"}, By: map[string]Entry{"a": {}}},
		Progress: &Progress{Identity: Identity{UID: "u"}, Handlers: map[string]Record{
			"a": {State: Pending, Attempts: 2, Next: time.Date(2026, 3, 1, 10, 0, 0, 5e6, time.UTC)},
		}},
		Status: map[string]json.RawMessage{"a": json.RawMessage(`[1, 2]`)},
	}
	got, err := ServicePrefix.Read(map[string]string{
		"dogear.dev/handled":  " {\n\"by\" : { \"a\":\tnull } , \"essence\":null, \"generation\":null,\r\n\"\\u0075id\":\"\\u0075\", \"v\" : 1 } ",
		"dogear.dev/progress": `{"handlers":{"a":{"next":"2026-03-01T11:00:00.0059+01:00","started":"","claimed":null,"attempts":1,"attempts":2,"state":"Pending"}},"uid":"u","v":1,"object":null}`,
		"dogear.dev/status":   ` { "a" : [1, 2] } `,
		"dogear.dev/future":   "\x00",
		"dogear.other/state":  "Failed",
		"dogear.dev":          "x",
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields(want), fields(got), everything); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBytesThatAreNoUTF8AreReadAsEncodingJSONReadsThem(t *testing.T) {
	t.Parallel()
	m, err := ServicePrefix.Read(map[string]string{"dogear.dev/progress": "{\"v\":1,\"handlers\":{\"a\xff\":{\"message\":\"b\xfe\"}}}"})
	if r, ok := m.Record("a\ufffd"); err != nil || !ok || r.Message != "b\ufffd" {
		t.Errorf("%+v, %v", m.Progress, err)
	}
}

func TestEmptyDocumentsAreNone(t *testing.T) {
	t.Parallel()
	m, err := ServicePrefix.Read(map[string]string{
		"dogear.dev/progress": `{"v":1,"uid":"u","handlers":{}}`, "dogear.dev/status": `{}`, "dogear.dev/paused": "", "dogear.dev/state": "",
	})
	if err != nil || !m.IsZero() {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestPausedErrsOnTheSideOfThePause(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"true": true, " True\n": true, "false": false, "": false, "yes": true, "0": true} {
		m, err := ServicePrefix.Read(map[string]string{"dogear.dev/paused": text})
		if m.Paused != want || (err != nil) != (text == "yes" || text == "0") {
			t.Errorf("%q is %v, %v", text, m.Paused, err)
		}
	}
}

const secret = "hunter2"

func TestMalformedDocumentsAreNamedAndNeverRepeated(t *testing.T) {
	t.Parallel()
	record := func(fields string) string { return `{"v":1,"uid":"u","handlers":{"hunter2":` + fields + `}}` }
	for _, c := range []struct{ name, text, reason string }{
		{KeyHandled, ``, "no valid JSON"},
		{KeyHandled, secret, "no valid JSON at byte 1"},
		{KeyHandled, `{"v":1,"uid":"hunter2}`, "no valid JSON"},
		{KeyHandled, `{"v":1}hunter2`, "no valid JSON at byte 8"},
		{KeyHandled, `null`, "want a JSON object"},
		{KeyHandled, `["hunter2"]`, "want a JSON object"},
		{KeyHandled, `"hunter2"`, "want a JSON object"},
		{KeyHandled, `{}`, "no version"},
		{KeyHandled, `{"V":1}`, "no version"},
		{KeyHandled, `{"v":0}`, "no version"},
		{KeyHandled, `{"v":-1}`, "no version"},
		{KeyHandled, `{"v":"hunter2"}`, "v: want a whole number"},
		{KeyHandled, `{"v":1.5}`, "v: want a whole number"},
		{KeyHandled, `{"v":1,"uid":7}`, "uid: want a string"},
		{KeyHandled, `{"v":1,"essence":{"hunter2":1}}`, "essence: want a string"},
		{KeyHandled, `{"v":1,"generation":"hunter2"}`, "generation: want a whole number"},
		{KeyHandled, `{"v":1,"generation":1e3}`, "generation: want a whole number"},
		{KeyHandled, `{"v":1,"by":["hunter2"]}`, "by: want an object"},
		{KeyHandled, `{"v":1,"by":{"hunter2":"hunter2"}}`, "an entry of by: want an object"},
		{KeyHandled, `{"v":1,"by":{"hunter2":{"digest":false}}}`, "digest: want a string"},
		{KeyHandled, `{"v":1,"object":"hunter2"}`, "object: want an object"},
		{KeyHandled, `{"v":1,"object":{"kind":["hunter2"]}}`, "kind: want a string"},
		{KeyProgress, `{"v":1,"handlers":"hunter2"}`, "handlers: want an object"},
		{KeyProgress, record(`"hunter2"`), "a record of handlers: want an object"},
		{KeyProgress, record(`{"attempts":-1}`), "attempts is negative"},
		{KeyProgress, record(`{"attempts":99999999999999999999}`), "attempts: want a whole number"},
		{KeyProgress, record(`{"claimed":"hunter2"}`), "claimed: want true or false"},
		{KeyProgress, record(`{"started":"hunter2"}`), "started: want a time"},
		{KeyProgress, record(`{"next":"2026-03-01T10:00:00"}`), "next: want a time as in RFC 3339 with an offset"},
		{KeyProgress, record(`{"next":"2026-03-01"}`), "next: want a time"},
		{KeyProgress, record(`{"next":"9999-12-31T23:59:59-01:00"}`), "next: want a time"},
		{KeyProgress, record(`{"next":"0000-01-01T00:00:00+01:00"}`), "next: want a time"},
		{KeyProgress, record(`{"next":1772359200}`), "next: want a string"},
		{KeyProgress, record(`{"state":1,"cause":2}`), "state: want a string"},
		{KeyStatus, `{"a":hunter2}`, "no valid JSON at byte 6"},
		{KeyStatus, `["hunter2"]`, "want a JSON object"},
		{KeyStatus, strings.Repeat("[", 10001), "no valid JSON"},
		{KeyPaused, `hunter2`, `want "true" or "false"`},
	} {
		key := ServicePrefix.Key(c.name)
		m, err := ServicePrefix.Read(map[string]string{key: c.text, "dogear.dev/state": "Failed"})
		var format *FormatError
		if !errors.As(err, &format) || format.Key != key {
			t.Errorf("%s: error of %s is %v", c.name, c.text, err)
			continue
		}
		if !strings.Contains(err.Error(), c.reason) || !strings.Contains(err.Error(), key) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error of %s is %v, want %q", c.name, c.text, err, c.reason)
		}
		if m.Handled != nil || m.Progress != nil || m.Status != nil || m.State != Failed {
			t.Errorf("%s: half of %s was read: %+v", c.name, c.text, m)
		}
	}
}

func TestErrorsOfAllAnnotationsAreJoinedInOrder(t *testing.T) {
	t.Parallel()
	annotations := map[string]string{"dogear.dev/status": "x", "dogear.dev/handled": "{", "dogear.dev/progress": `{"v":7}`, "dogear.dev/paused": "x"}
	_, err := ServicePrefix.Read(annotations)
	want := `annotation dogear.dev/handled: no valid JSON at byte 1
annotation dogear.dev/progress: version 7: written by a newer release of Dogear
annotation dogear.dev/status: no valid JSON at byte 1
annotation dogear.dev/paused: want "true" or "false"; taken as "true"`
	if fmt.Sprint(err) != want {
		t.Errorf("got\n%v, want\n%s", err, want)
	}
}

func TestANewerDocumentIsToldApart(t *testing.T) {
	t.Parallel()
	for _, name := range []string{KeyHandled, KeyProgress} {
		for _, text := range []string{`{"v":2}`, `{"uid":{"new":"form"},"by":7,"handlers":7,"v":2}`} {
			m, err := ServicePrefix.Read(map[string]string{ServicePrefix.Key(name): text})
			var format *FormatError
			if !errors.Is(err, ErrNewer) || !errors.As(err, &format) || format.Key != ServicePrefix.Key(name) || !m.IsZero() {
				t.Errorf("%s %s gives %+v, %v", name, text, m, err)
			}
		}
	}
	_, err := ServicePrefix.Read(map[string]string{"dogear.dev/handled": "{", "dogear.dev/state": "x"})
	if errors.Is(err, ErrNewer) {
		t.Error("a broken document counts as newer")
	}
}
