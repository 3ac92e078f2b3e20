package demo

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/storage"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func someObjects() []object {
	return []object{
		{Kind: "Certificate", Name: "shop", Handlers: []standing{
			{Handler: "policy", State: storage.Succeeded, Attempts: 1, Payload: json.RawMessage(`{"allowed":true}`)},
			{
				Handler: "provision", State: storage.Retrying, Attempts: 2, Next: noon.Add(1500 * time.Millisecond),
				Payload: json.RawMessage(`{"phase":"Pending","attempt":2}`), Message: "not issued yet",
			},
		}},
		{Kind: "Certificate", Name: "rogue", Handlers: []standing{
			{Handler: "policy", State: storage.Failed, Attempts: 1, Payload: json.RawMessage(`{"allowed":false,"name":"rogue.example.org"}`)},
		}},
		{Kind: "Service", Name: "api", Handlers: []standing{{Handler: "dns", State: gone, Attempts: 1}}},
	}
}

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"80 columns", 79, `
OBJECT             HANDLER    STATE      TRIES  NEXT  PAYLOAD
Certificate/shop   policy     Succeeded  1      -     allowed=true
                   provision  Retrying   2      1.5s  attempt=2 phase=Pending
Certificate/rogue  policy     Failed     1      -     allowed=false name=rogue…
Service/api        dns        Gone       1      -`},
		{"too narrow for payloads", 58, `
OBJECT             HANDLER    STATE      TRIES  NEXT
Certificate/shop   policy     Succeeded  1      -
                   provision  Retrying   2      1.5s
Certificate/rogue  policy     Failed     1      -
Service/api        dns        Gone       1      -`},
		{"wide", 120, `
OBJECT             HANDLER    STATE      TRIES  NEXT  PAYLOAD                               MESSAGE
Certificate/shop   policy     Succeeded  1      -     allowed=true
                   provision  Retrying   2      1.5s  attempt=2 phase=Pending               not issued yet
Certificate/rogue  policy     Failed     1      -     allowed=false name=rogue.example.org
Service/api        dns        Gone       1      -`},
	} {
		got := strings.Join(table(someObjects(), noon, c.width, style{}), "\n")
		if want := strings.TrimPrefix(c.want, "\n"); got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", c.name, got, want)
		}
	}
}

// Whatever objects say, and however narrow the terminal is, no line is wider.
func TestTableFitsTheWidth(t *testing.T) {
	objects := someObjects()
	objects[0].Name = strings.Repeat("long", 50)
	objects[1].Handlers[0].Handler = strings.Repeat("日本", 50)
	objects[1].Handlers[0].Message = "\x1b[2Jmessage\n" + strings.Repeat("x", 500)
	objects[2].Handlers[0].Payload = json.RawMessage(`{"a":"` + strings.Repeat("é", 300) + `"}`)
	for width := 1; width < 250; width++ {
		for _, st := range []style{{}, {on: true}} {
			for _, text := range table(objects, noon, width, st) {
				if n := columns(clean(text)); n > width {
					t.Fatalf("%d columns in a width of %d: %q", n, width, text)
				}
				if strings.Contains(text, "\n") || strings.Contains(text, "\x1b[2J") {
					t.Fatalf("text of others is obeyed: %q", text)
				}
			}
		}
	}
}

func TestColorAndIconsOnlyWhereOn(t *testing.T) {
	if got := strings.Join(table(someObjects(), noon, 120, style{}), ""); strings.ContainsAny(got, "\x1b✓✗↻∅") {
		t.Errorf("colours or icons in %q", got)
	}
	got := strings.Join(table(someObjects(), noon, 120, style{on: true}), "")
	for _, want := range []string{"\x1b[32m✓ Succeeded", "\x1b[31m✗ Failed", "\x1b[33m↻ Retrying", "\x1b[2m∅ Gone"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func TestNext(t *testing.T) {
	for after, want := range map[time.Duration]string{
		-time.Second: "now", 0: "now", 1500 * time.Millisecond: "1.5s", 65 * time.Second: "1m5s",
	} {
		if got := next(standing{Next: noon.Add(after)}, noon); got != want {
			t.Errorf("in %s: %q, want %q", after, got, want)
		}
	}
	if got := next(standing{}, noon); got != "-" {
		t.Errorf("never: %q, want -", got)
	}
}

// frames is a terminal that notes each write.
type frames struct{ all []string }

func (f *frames) Write(p []byte) (int, error) {
	f.all = append(f.all, string(p))
	return len(p), nil
}

func TestScreenWritesOnceForAChangeAndNotWithoutOne(t *testing.T) {
	out := &frames{}
	s := &screen{out: out, size: func() (int, int) { return 80, 24 }, stop: func() {}}
	b := newBoard("dogear.demo.example.com")
	b.objects = someObjects()
	s.live(b)
	s.say("first")
	s.say("second")
	s.paint(noon)
	s.paint(noon)
	if len(out.all) != 1 {
		t.Fatalf("%d writes, want 1: %q", len(out.all), out.all)
	}
	if n := strings.Count(out.all[0], "\n"); n != 2+1+5 {
		t.Errorf("%d lines, want 8: %q", n, out.all[0])
	}
	s.paint(noon.Add(time.Second)) // the time until the retry runs down
	if len(out.all) != 2 || !strings.Contains(out.all[1], "\x1b[6A\r") {
		t.Errorf("want one more write that begins 6 lines up: %q", out.all)
	}
	s.end()
	s.end()
	if n := len(out.all); n > 3 {
		t.Errorf("%d writes, want no more after the end: %q", n, out.all)
	}
}

func TestScreenKeepsBelowTheHeight(t *testing.T) {
	out := &frames{}
	s := &screen{out: out, size: func() (int, int) { return 80, 4 }, stop: func() {}}
	b := newBoard("dogear.demo.example.com")
	b.objects = someObjects()
	s.live(b)
	s.paint(noon)
	if n := strings.Count(out.all[0], "\n"); n != 3 {
		t.Errorf("%d lines on a terminal of 4, want 3", n)
	}
}

func TestRowsOfLinesThatWrap(t *testing.T) {
	lines := []string{"", "\x1b[31m12345\x1b[0m", "123456789012"}
	if got, want := rows(lines, 5), 1+1+3; got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	if got := rows(slices.Clone(lines), 80); got != 3 {
		t.Errorf("%d rows, want 3", got)
	}
}
