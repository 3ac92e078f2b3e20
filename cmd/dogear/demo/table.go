package demo

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dogear-dev/dogear/storage"
)

const (
	gap = 2
	// widest names get no more room than this.
	widest = 30
	// narrowest is the room below which a last column is left out.
	narrowest = 8
	// roomy terminals have a column for messages.
	roomy = 110
)

// table draws where everything stands, at most so many columns wide.
func table(objects []object, now time.Time, width int, st style) []string {
	header := []string{"OBJECT", "HANDLER", st.icon(" ") + "STATE", "TRIES", "NEXT", "PAYLOAD"}
	if width >= roomy {
		header = append(header, "MESSAGE")
	}
	var (
		rows   [][]string
		states []storage.State
	)
	for _, o := range objects {
		for i, s := range o.Handlers {
			title := o.title()
			if i > 0 {
				title = ""
			}
			_, icon := st.of(s.State)
			row := []string{
				clean(title), clean(s.Handler), st.icon(icon) + clean(string(s.State)), tries(s), next(s, now), payloadText(s.Payload), clean(s.Message),
			}
			rows, states = append(rows, row[:len(header)]), append(states, s.State)
		}
	}
	widths := measure(append([][]string{header}, rows...), width)
	lines := []string{line(header, widths, func(_ int, text string) string { return st.paint(bold, text) })}
	for i, row := range rows {
		color, _ := st.of(states[i])
		lines = append(lines, line(row, widths, func(column int, text string) string {
			switch column {
			case 2:
				return st.paint(color, text)
			case 6:
				return st.paint(faint, text)
			}
			return text
		}))
	}
	return lines
}

func tries(s standing) string {
	if s.Attempts == 0 {
		return "-"
	}
	return strconv.Itoa(s.Attempts)
}

// next is the time until the handler runs again.
func next(s standing, now time.Time) string {
	switch left := s.Next.Sub(now); {
	case s.Next.IsZero():
		return "-"
	case left <= 0:
		return "now"
	case left < 10*time.Second:
		return fmt.Sprintf("%.1fs", left.Seconds())
	default:
		return left.Round(time.Second).String()
	}
}

// measure gives each column what it needs, and shares what is left of the
// width among those at the end. A width of 0 leaves a column out.
func measure(rows [][]string, width int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	widths[0], widths[1] = min(widths[0], widest), min(widths[1], widest)
	widths[4] = max(widths[4], 4) // no jumping while times run down
	left := width
	for i := range widths {
		if i > 0 {
			left -= gap
		}
		if i == len(widths)-2 && i > 4 { // the payload leaves room for messages
			widths[i] = min(widths[i], max(left/2, left-gap-widths[i+1]))
		}
		if widths[i] > left {
			widths[i] = max(left, 0)
			if i > 0 && left < narrowest {
				widths[i] = 0
			}
		}
		left -= widths[i]
	}
	return widths
}

// line puts cells into columns. The text of the last is not padded.
func line(cells []string, widths []int, color func(column int, text string) string) string {
	text, blank := "", 0
	for i, cell := range cells {
		if widths[i] == 0 {
			continue
		}
		if i > 0 {
			blank += gap
		}
		cell = fit(cell, widths[i])
		if cell == "" {
			blank += widths[i]
			continue
		}
		text += fmt.Sprintf("%*s", blank, "") + color(i, cell)
		blank = widths[i] - columns(cell)
	}
	return text
}
