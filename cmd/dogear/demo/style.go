package demo

import "github.com/dogear-dev/dogear/storage"

// gone is the state that the table shows of an object that is no more.
const gone storage.State = "Gone"

// style adds colours and icons; the zero value adds nothing.
type style struct{ on bool }

const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	cyan   = "36"
)

// paint colours text, which must have its final width.
func (s style) paint(color, text string) string {
	if !s.on || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// icon is an icon and a space.
func (s style) icon(icon string) string {
	if !s.on {
		return ""
	}
	return icon + " "
}

// of returns the colour and the icon of a state.
func (s style) of(state storage.State) (color, icon string) {
	switch state {
	case storage.Pending:
		return blue, "○"
	case storage.Waiting:
		return cyan, "◔"
	case storage.Retrying:
		return yellow, "↻"
	case storage.Failed:
		return red, "✗"
	case storage.Succeeded:
		return green, "✓"
	case gone:
		return faint, "∅"
	}
	return "", " "
}
