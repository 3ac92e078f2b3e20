package installation

import (
	"strings"
	"unicode"
)

// Printable makes a text of others fit for a terminal and for one line: control
// characters, which could move the cursor or hide what was printed before, become
// spaces.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
