package installation

import (
	"strings"
	"unicode"
)

// Printable makes a text of others fit for a terminal and for one line: control
// characters, which could move the cursor or hide what was printed before, become
// spaces, as do those that turn the direction of writing.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text)
}
