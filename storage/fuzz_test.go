package storage

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzRead: any text in any annotation gives a marker or an error that names
// the annotation; what was read renders to a fixed point that reads the same.
func FuzzRead(f *testing.F) {
	f.Add("Pending", handledText, progressText, `{"a":{"b":1}}`, "H4sI", "*", "true")
	f.Add("", `{"v":1,"object":{"kind":"K","x":[]},"by":{"a":{"y":{}}},"z":" \""}`, `{"v":2}`, `{"":null}`, "", "", "maybe")
	f.Add("", `{"v":1,"by":{"a":null,"a":{"digest":"\ud800"}}}`, `{"v":1,"handlers":{"a":{"next":"2026-03-01T10:00:00.9999+01:00","attempts":1,"x":1e9}}}`, "[]", "", "", "")
	f.Add("", "{", "null", "\xff", "\x00", "", "")
	f.Add("", "{\"v\":1 ,\"\xff\":\"\xff\"}", "{\"v\":1,\"handlers\":{\"\xff\":{\"reason\":\"\\\\\\\"\"}}}", "{\"\xff\":\"\xff\"}", "", "", "")
	f.Fuzz(func(t *testing.T, state, handled, progress, status, base, retry, paused string) {
		annotations := map[string]string{
			"dogear.dev/state": state, "dogear.dev/handled": handled, "dogear.dev/progress": progress, "dogear.dev/status": status,
			"dogear.dev/base": base, "dogear.dev/retry": retry, "dogear.dev/paused": paused,
		}
		m, err := ServicePrefix.Read(annotations)
		var format *FormatError
		if err != nil && !errors.As(err, &format) {
			t.Fatalf("an error of another kind: %v", err)
		}
		texts := ServicePrefix.Render(m)
		again, err := ServicePrefix.Read(texts)
		if err != nil {
			t.Fatalf("rendered %q: %v", texts, err)
		}
		if diff := cmp.Diff(texts, ServicePrefix.Render(again)); diff != "" {
			t.Fatalf("no fixed point (-first +second):\n%s", diff)
		}
		if m.Handled != nil {
			fieldsSurvive(t, handled, texts["dogear.dev/handled"])
		}
		if m.Progress != nil {
			fieldsSurvive(t, progress, texts["dogear.dev/progress"])
		}
	})
}

// fieldsSurvive compares the unknown fields of a document before and after,
// as encoding/json reads them.
func fieldsSurvive(t *testing.T, before, after string) {
	t.Helper()
	if !utf8.ValidString(before) {
		return
	}
	was, is := unknown(t, before), unknown(t, after)
	if diff := cmp.Diff(was, is); diff != "" {
		t.Fatalf("unknown fields (-before +after):\n%s", diff)
	}
}

// unknown are the fields of a document less the known ones, by level.
func unknown(t *testing.T, text string) map[string]any {
	t.Helper()
	known := []string{"v", "uid", "object", "essence", "generation", "by", "handlers"}
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		return nil // numbers beyond float64
	}
	left := map[string]any{}
	for key, value := range document {
		if !slices.Contains(known, key) {
			left[key] = value
		}
	}
	inner := []string{"digest", "revision", "cause", "state", "essence", "attempts", "claimed", "started", "next", "reason", "message", "by"}
	for _, list := range []string{"by", "handlers"} {
		items, _ := document[list].(map[string]any)
		for id, item := range items {
			fields, _ := item.(map[string]any)
			fields = maps.Clone(fields)
			maps.DeleteFunc(fields, func(key string, _ any) bool { return slices.Contains(inner, key) })
			if len(fields) > 0 {
				left[list+"/"+id] = fields
			}
		}
	}
	return left
}

// FuzzUncompress: any text gives at most maxBase bytes, which pack and unpack
// to themselves, or an error.
func FuzzUncompress(f *testing.F) {
	f.Add(Compress([]byte(`{"spec":{"a":1}}`)))
	f.Add(Compress(nil))
	f.Add("H4sIAAAAAAAE/w==")
	f.Add("!")
	f.Fuzz(func(t *testing.T, base string) {
		essence, err := Uncompress(base)
		if err != nil {
			if essence != nil {
				t.Fatal("bytes with an error")
			}
			return
		}
		if len(essence) > maxBase {
			t.Fatalf("%d bytes", len(essence))
		}
		if back, err := Uncompress(Compress(essence)); err != nil || string(back) != string(essence) {
			t.Fatalf("packs to something else: %v", err)
		}
	})
}

// FuzzParsePath: any text gives a path or an error, and a path can be used.
func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"spec.dnsNames", ".spec", "metadata.annotations['example.com/size']", `status.conditions[type="Ready"].status`,
		"spec[0]", "spec..a", "a['", "[a=b]", `status["x"][y=]['z']`, "metadata", "status", "metadata.annotations['dogear.dev/x']"} {
		f.Add(text)
	}
	object := map[string]any{}
	if err := json.Unmarshal([]byte(certificate), &object); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ParsePath(text)
		if err != nil {
			if p.Root() != "" || len(err.Error()) > 20*len(text)+200 {
				t.Fatalf("%v, %v", p, err)
			}
			return
		}
		if p.String() != text || p.Root() == "" {
			t.Fatalf("prints as %s, has the root %q", p, p.Root())
		}
		own.FieldsDigest(object, []Path{p})
		if names, plain := p.Names(); plain {
			quoted := ""
			for _, name := range names {
				quoted += `["` + name + `"]`
			}
			again, err := ParsePath(quoted)
			if err != nil {
				return // a quote within
			}
			if names2, _ := again.Names(); !slices.Equal(names, names2) {
				t.Fatalf("%q quoted is %q", names, names2)
			}
		}
	})
}

// FuzzCanonical: canonical JSON is valid, canonical itself, and the same for
// whatever the server or a client makes of the text on its way.
func FuzzCanonical(f *testing.F) {
	for _, text := range []string{certificate, service, `1.0`, `-0`, `1e20`, `9223372036854775808`, `-9223372036854775808.0`, `[null,{"a":null}]`,
		`{"a":1,"a":2}`, `"\ud800\u2028<"`, `{"\ud800":1,"\ufffd":2}`, `5e-324`, `[[[[]]]]`, `123456789012345678901234567890`, "\"\xff\"", `1e999`, `20000000000000007.0`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := DecodeValue(text)
		if err != nil {
			return
		}
		got := AppendCanonical(nil, v)
		if !json.Valid(got) {
			t.Fatalf("no valid JSON: %s", got)
		}
		again, err := DecodeValue(got)
		if err != nil {
			t.Fatal(err)
		}
		if twice := AppendCanonical(nil, again); string(twice) != string(got) {
			t.Fatalf("canonical form of\n%s is\n%s", got, twice)
		}
		stored, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		read, err := DecodeValue(stored)
		if err != nil {
			t.Fatal(err)
		}
		if back := AppendCanonical(nil, read); string(back) != string(got) {
			t.Fatalf("stored and read again it is\n%s, was\n%s", back, got)
		}
	})
}
