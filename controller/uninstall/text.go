package uninstall

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/dogear-dev/dogear/controller/installation"
)

// maxListed is how many objects that are left for one reason are listed as text.
const maxListed = 100

// WriteText writes the result for people; -o json has it whole.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	r.table(&b)
	if n := r.Unfinished.Total; n > 0 {
		fmt.Fprintf(&b, "\nNot finished: %d %s in deletion, but the Delete handlers had not succeeded. What they clean up is left over:\n", n, plural(n, "object was", "objects were"))
		list(&b, r.Unfinished.Objects, n)
	}
	r.left(&b)
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\nNote: %s.\n", installation.Printable(note))
	}
	switch {
	case r.DryRun:
		b.WriteString("\nNothing was changed: this is a dry run.\n")
	case r.Done && r.Uncertain:
		b.WriteString("\nDone, as far as it is known. CRDs of Dogear and the sets, if there are any, stay.\n")
	case r.Done && r.KeptState:
	case r.Done && len(r.Namespaces) > 0:
		fmt.Fprintf(&b, "\nDone: nothing in %s %s waits for Dogear any more. Its CRDs and the sets, if there are any, stay.\n",
			plural(len(r.Namespaces), "namespace", "the namespaces"), strings.Join(r.Namespaces, ", "))
	case r.Done:
		b.WriteString("\nDone: nothing in the cluster waits for Dogear any more. Its CRDs and the sets, if there are any, stay.\n")
	}
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

func (r *Result) table(b *strings.Builder) {
	quiet := 0
	rows := [][]any{}
	for _, at := range r.Resources {
		if at.Released+at.Cleaned+at.Left == 0 {
			quiet++
			continue
		}
		rows = append(rows, []any{at.Resource, at.Objects, at.Released, at.Cleaned, at.Left})
	}
	if len(rows) > 0 {
		t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(t, "RESOURCE\tOBJECTS\tRELEASED\tCLEANED\tLEFT") // it goes to a Builder
		for _, row := range rows {
			_, _ = fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\n", row...)
		}
		_ = t.Flush()
	}
	if quiet > 0 {
		fmt.Fprintf(b, "%d %s without anything to take off\n", quiet, plural(quiet, "resource", "resources"))
	}
}

// left lists what is left, by resource and reason.
func (r *Result) left(b *strings.Builder) {
	if len(r.Left) == 0 {
		return
	}
	type group struct{ resource, reason string }
	var order []group
	objects := map[group][]Object{}
	for _, l := range r.Left {
		g := group{l.Resource, l.Reason}
		if objects[g] == nil {
			order = append(order, g)
		}
		objects[g] = append(objects[g], l.Object)
	}
	fmt.Fprintf(b, "\nLeft, %d:\n", len(r.Left))
	for _, g := range order {
		fmt.Fprintf(b, "  %s: %s\n", g.resource, installation.Printable(g.reason))
		all := objects[g]
		if all[0].Name == "" && all[0].Namespace == "" {
			continue
		}
		list(b, all[:min(len(all), maxListed)], len(all))
	}
}

func list(b *strings.Builder, named []Object, total int) {
	for _, o := range named {
		fmt.Fprintf(b, "    %s\n", installation.Printable(o.String()))
	}
	if more := total - len(named); more > 0 {
		fmt.Fprintf(b, "    and %d more\n", more)
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
