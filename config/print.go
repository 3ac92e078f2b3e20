package config

import (
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/yaml"
)

// Print writes the settings as a YAML file, with the source of each behind it.
func (s *Loaded) Print(w io.Writer) error {
	group := ""
	for _, e := range s.entries() {
		name, indent := e.path, ""
		if g, rest, nested := strings.Cut(e.path, "."); nested {
			if g != group {
				if _, err := fmt.Fprintf(w, "%s:\n", g); err != nil {
					return err
				}
			}
			group, name, indent = g, rest, "  "
		}
		if _, err := fmt.Fprintf(w, "%-40s # %s\n", indent+name+": "+printed(e.value), s.Source(e.path)); err != nil {
			return err
		}
	}
	return nil
}

func printed(v value) string {
	var quoted []string
	for _, t := range v.texts() {
		if _, ok := v.(textValue); ok || isList(v) {
			t = quote(t)
		}
		quoted = append(quoted, t)
	}
	joined := strings.Join(quoted, ", ")
	if isList(v) {
		return "[" + joined + "]"
	}
	return joined
}

// quote quotes a text where YAML needs it.
func quote(text string) string {
	encoded, err := yaml.Marshal(text)
	plain := strings.TrimSuffix(string(encoded), "\n")
	if err != nil || strings.ContainsAny(plain, "\n,[]{}#") {
		return fmt.Sprintf("%q", text)
	}
	return plain
}
