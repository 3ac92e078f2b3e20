package storage

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanMessage makes an error text fit for a record: control characters and
// bytes that are no UTF-8 are replaced by spaces, and it is cut to MaxMessage
// bytes at a character's end.
func CleanMessage(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if len(text) <= MaxMessage {
		return text
	}
	end := MaxMessage - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
