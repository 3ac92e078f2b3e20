package check

import (
	"fmt"
	"io"
	"strings"

	"github.com/dogear-dev/dogear/controller/installation"
)

// Style says how text is shown; the zero value is plain.
type Style struct {
	// Color adds colours and icons.
	Color bool
}

// looks are the icons, words and colours of verdicts.
var looks = map[Verdict]struct{ icon, word, color string }{
	OK:      {"✓", "ok  ", "32"},
	Warning: {"!", "warn", "33"},
	Failed:  {"✗", "FAIL", "31"},
	Skipped: {"-", "skip", "2"},
}

func (s Style) paint(color, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

func (s Style) mark(v Verdict) string {
	look := looks[v]
	if !s.Color {
		return look.word
	}
	return s.paint(look.color, look.icon)
}

// Text writes the report for people. Checks that were not made are counted.
func (r *Report) Text(w io.Writer, style Style) error {
	var out strings.Builder
	unmade := 0
	for _, g := range r.Groups {
		title := false
		for i := range g.Checks {
			c := &g.Checks[i]
			if c.unmade {
				unmade++
				continue
			}
			if !title {
				fmt.Fprintf(&out, "%s\n", style.paint("1", g.Name))
				title = true
			}
			c.text(&out, style)
		}
		if title {
			out.WriteByte('\n')
		}
	}
	out.WriteString(r.summary(style, unmade))
	_, err := io.WriteString(w, out.String())
	return err
}

func (c *CheckReport) text(out *strings.Builder, style Style) {
	name := c.Name
	if c.Message != "" {
		name += ": "
	}
	indent := "  " + strings.Repeat(" ", columns(style)+1)
	fmt.Fprintf(out, "  %s %s%s\n", style.mark(c.Verdict), name, indented(c.Message, indent))
	for _, o := range c.Objects {
		fmt.Fprintf(out, "%s- %s\n", indent, indented(o, indent+"  "))
	}
	if c.More > 0 {
		fmt.Fprintf(out, "%s- and %d more\n", indent, c.More)
	}
	if c.Hint != "" {
		fmt.Fprintf(out, "%s%s %s\n", indent, style.paint("36", "hint:"), indented(c.Hint, indent+"      "))
	}
	if c.Verdict == Failed || c.Verdict == Warning {
		fmt.Fprintf(out, "%s%s %s\n", indent, style.paint("36", "see:"), style.paint("2", c.Link))
	}
}

// columns is the width of a mark.
func columns(style Style) int {
	if style.Color {
		return 1
	}
	return 4
}

// indented is a text of several lines below a first one. Events, annotations and
// conditions are written by others, so nothing of it gets to move the cursor.
func indented(text, indent string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = installation.Printable(lines[i])
	}
	return strings.Join(lines, "\n"+indent)
}

func (r *Report) summary(style Style, unmade int) string {
	s := r.Summary
	var parts []string
	part := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	part(s.Failed, "check failed", "checks failed")
	part(s.Warnings, "warning", "warnings")
	part(s.Skipped-unmade, "skipped", "skipped")
	part(unmade, "not looked at", "not looked at")
	part(s.OK, "ok", "ok")
	text := map[Verdict]string{OK: "No fault was found", Warning: "No fault was found, but warnings", Failed: "Something is wrong"}[s.Verdict]
	return fmt.Sprintf("%s %s\n", style.mark(s.Verdict), style.paint("1", text)+": "+strings.Join(parts, ", "))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return installation.Printable(line)
}

func joined(all []string) string { return strings.Join(all, "\n") }
