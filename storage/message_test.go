package storage

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestCleanMessage(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxMessage)
	for text, want := range map[string]string{
		"":                            "",
		" \n\t":                       "",
		"plain":                       "plain",
		"two\nlines\r\n":              "two lines",
		"\x1b[31mred\x1b[0m":          "[31mred [0m",
		"nul\x00 del\x7f c1\u0085end": "nul  del  c1 end",
		"bad\xff\xfeutf":              "bad  utf",
		"replaced\ufffd!":             "replaced !",
		"ü🐶":                          "ü🐶",
		long:                          long,
		long + " \n":                  long,
		long + "y":                    long[:MaxMessage-3] + "…",
		strings.Repeat("ü", 513):      strings.Repeat("ü", 510) + "…",
		strings.Repeat("🐶", 257):      strings.Repeat("🐶", 255) + "…",
	} {
		if got := CleanMessage(text); got != want {
			t.Errorf("%.40q is %.40q (%d bytes), want %.40q (%d bytes)", text, got, len(got), want, len(want))
		}
	}
}

func TestCleanMessagesAreShortTextAndStay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }))
		text := strings.Repeat(part.Draw(t, "part"), rapid.IntRange(1, 200).Draw(t, "times"))
		got := CleanMessage(text)
		if len(got) > MaxMessage || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x00\x1b\x7f") {
			t.Fatalf("%d bytes: %q", len(got), got)
		}
		if again := CleanMessage(got); again != got {
			t.Fatalf("a second time makes %q of %q", again, got)
		}
	})
}
