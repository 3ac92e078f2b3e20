package installation

import "testing"

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"a\x1b[2Jb":         "a [2Jb",
		"one\r\ntwo\tthree": "one  two three",
		"\u009b31mred":      " 31mred",
		"ab\u202edc":        "ab dc",
		"ünïcode “…”":       "ünïcode “…”",
		"":                  "",
	} {
		if have := Printable(text); have != want {
			t.Errorf("%q became %q, want %q", text, have, want)
		}
	}
}
