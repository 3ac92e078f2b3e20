package remote

import (
	"strings"
	"unicode"

	"github.com/dogear-dev/dogear/storage"
)

// clean makes text of a remote fit for errors, events and logs: control and
// format characters, such as those that turn the direction of writing, become
// spaces, and it is cut to 1 KiB.
func clean(text string) string {
	return storage.CleanMessage(strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, text))
}

// brief is a short piece of a remote's text, for quoting.
func brief(text string) string {
	const most = 64
	text = clean(text)
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
