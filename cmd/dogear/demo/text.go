package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// escapes are what terminals take as commands: CSI, OSC and the like, and the
// two-character ones.
var escapes = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]?|\x1b[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]?")

// clean makes text of others fit for a terminal: escape sequences go, as do
// characters that hide or reorder text, and control characters become spaces.
func clean(text string) string {
	text = escapes.ReplaceAllString(text, "")
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r), unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, text)
}

// columns is the room that clean text takes on a terminal.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit cuts text to at most n columns, with an ellipsis where it was cut.
func fit(text string, n int) string {
	if columns(text) <= n {
		return text
	}
	used, end := 0, 0
	for i, r := range text {
		if used+runeColumns(r) > n-1 {
			break
		}
		used += runeColumns(r)
		end = i + len(string(r))
	}
	if n < 1 {
		return ""
	}
	return text[:end] + "…"
}

// pad fits text into just n columns.
func pad(text string, n int) string {
	text = fit(text, n)
	return text + strings.Repeat(" ", max(0, n-columns(text)))
}

// payloadText is a payload for people: "attempt=1 phase=Pending" where it is
// flat, else its JSON.
func payloadText(payload json.RawMessage) string {
	var flat map[string]any
	if len(payload) == 0 {
		return ""
	}
	if json.Unmarshal(payload, &flat) != nil {
		return clean(string(payload))
	}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(flat)) {
		switch value := flat[key].(type) {
		case map[string]any, []any:
			return clean(string(payload))
		case nil:
			words = append(words, key+"=null")
		default:
			words = append(words, fmt.Sprintf("%s=%v", key, value))
		}
	}
	return clean(strings.Join(words, " "))
}
