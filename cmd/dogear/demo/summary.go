package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dogear-dev/dogear/storage"
)

// summary is the report for people.
func (d *demo) summary(r *Report) []string {
	st := style{d.options.Color}
	verdict := st.paint(red, st.icon("✗")+"Not all objects ended as expected")
	if r.OK {
		verdict = st.paint(green, fmt.Sprintf("%sAll %d objects ended as expected", st.icon("✓"), len(d.options.Expected)))
	}
	lines := []string{"", fmt.Sprintf("%s, after %.1f s.", verdict, r.Seconds)}
	add := func(name, text string) { lines = append(lines, fmt.Sprintf("  %-14s%s", name, text)) }
	add("handler runs", runsText(r.Runs))
	add("API writes", writesText(r.Writes))
	add("events", eventsText(r.Events))
	if d.options.Keep {
		lines = append(lines, "", "All goes on running until Ctrl-C. In another terminal:")
		for _, command := range d.commands() {
			lines = append(lines, "  "+command)
		}
		return append(lines, "Changes show here:")
	}
	if d.options.Dir != "" {
		add("logs", d.dir)
	}
	return append(lines, "", "To look around with kubectl: dogear demo --keep")
}

func runsText(runs map[string]map[string]int) string {
	sum, words := 0, []string{}
	for _, id := range slices.Sorted(maps.Keys(runs)) {
		n := 0
		for _, count := range runs[id] {
			n += count
		}
		sum += n
		words = append(words, fmt.Sprintf("%s %d", clean(id), n))
	}
	return fmt.Sprintf("%d (%s)", sum, strings.Join(words, ", "))
}

func writesText(writes []WriteReport) string {
	var words []string
	for _, w := range writes {
		n := w.Main + w.Status
		words = append(words, fmt.Sprintf("%d to %d %s (%.1f each)", n, w.Objects, w.Resource, float64(n)/float64(max(w.Objects, 1))))
	}
	return strings.Join(words, ", ")
}

func eventsText(events map[string]int) string {
	sum, words := 0, []string{}
	for _, reason := range slices.Sorted(maps.Keys(events)) {
		sum += events[reason]
		words = append(words, fmt.Sprintf("%s %d", clean(reason), events[reason]))
	}
	return fmt.Sprintf("%d (%s)", sum, strings.Join(words, ", "))
}

// commands show the objects with kubectl.
func (d *demo) commands() []string {
	return append(d.environmentCommands(),
		"kubectl get clusterhandlersets",
		"kubectl get certificates,services -A -o "+CustomColumns(d.board.prefix),
		fmt.Sprintf(`kubectl patch certificate rogue -n %s --type=merge -p '{"spec":{"dnsNames":["rogue.example.com"]}}'`, objectsNamespace),
	)
}

// CustomColumns are columns of kubectl that show the state of the operator with
// this prefix, quoted for a shell. Dots within the annotation's name are escaped.
func CustomColumns(prefix storage.Prefix) string {
	key := strings.ReplaceAll(prefix.Key(storage.KeyState), ".", `\.`)
	return "custom-columns='KIND:.kind,NAME:.metadata.name,STATE:.metadata.annotations." + key + "'"
}
