package demo

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCleanStripsWhatTerminalsObey(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "Certificate/shop", "Certificate/shop"},
		{"colour", "a\x1b[31mred\x1b[0mb", "aredb"},
		{"clear screen", "\x1b[2J\x1b[Hgone", "gone"},
		{"title", "a\x1b]0;evil\x07b", "ab"},
		{"title with ST", "a\x1b]0;evil\x1b\\b", "ab"},
		{"title without an end", "a\x1b]0;evil", "a"},
		{"reset", "a\x1bcb", "ab"},
		{"bare escape", "a\x1b", "a"},
		{"control characters", "a\rb\nc\td\x00e\x7f\u0085f", "a b c d e  f"},
		{"right to left override", "a\u202eb\u2066c", "abc"},
		{"zero width", "a\u200bb\ufeffc", "abc"},
		{"no UTF-8", "a\xffb", "ab"},
		{"8-bit CSI", "a\u009b31mb", "a 31mb"},
		{"other scripts", "日本 é", "日本 é"},
	} {
		if got := clean(c.text); got != c.want {
			t.Errorf("%s: %q became %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31m\x1b]0;x\x07\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		got := clean(text)
		if strings.ContainsAny(got, "\x1b\r\n\x07\u009b\u202e") {
			t.Errorf("%q became %q", text, got)
		}
		for _, n := range []int{0, 1, 5, 40} {
			if c := columns(fit(got, n)); c > n {
				t.Errorf("%q takes %d columns, want %d at most", fit(got, n), c, n)
			}
			if c := columns(pad(got, n)); c != n {
				t.Errorf("%q takes %d columns, want %d", pad(got, n), c, n)
			}
		}
	})
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abcd", 1, "…"}, {"abcd", 0, ""}, {"", 0, ""},
		{"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"}, {"e\u0301e\u0301x", 2, "e\u0301…"},
	} {
		if got := fit(c.text, c.n); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.n, got, c.want)
		}
	}
}

func TestPayloadText(t *testing.T) {
	for payload, want := range map[string]string{
		``:                                "",
		`{"phase":"Pending","attempt":1}`: "attempt=1 phase=Pending",
		`{"a":null,"b":true,"c":1.5}`:     "a=null b=true c=1.5",
		`{"a":{"b":1}}`:                   `{"a":{"b":1}}`,
		`[1,2]`:                           `[1,2]`,
		`"word"`:                          `"word"`,
		`{"phase":"\u001b[31mred\u001b[0m\ntwo"}`: "phase=red two",
		`{no JSON`: "{no JSON",
	} {
		if got := payloadText(json.RawMessage(payload)); got != want {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}
