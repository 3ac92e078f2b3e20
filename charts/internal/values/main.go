// Command values writes values.schema.json and README.md of a chart, both made of
// its values.yaml: a comment above a value says what it is for, and what follows
// @schema in it, a word of shapes or a piece of JSON schema in YAML, what it may be.
//
//	values <folder of the chart>
//
// The schema refuses what it does not know, on every level but in free maps, and
// lets null stand for every value: with Helm it takes the value away.
package main

//go:generate go run . ../../dogear
//go:generate go run . ../../dogear-crds

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// heads are the READMEs, with {{values}} for the tables.
//
//go:embed heads/*.md
var heads embed.FS

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: values <folder of the chart>")
		os.Exit(2)
	}
	files, err := build(os.Args[1])
	for name, content := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(os.Args[1], name), content, 0o644))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "values:", err)
		os.Exit(1)
	}
}

// build returns the files of a chart by their names.
func build(chart string) (map[string][]byte, error) {
	name := filepath.Base(chart)
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml")) //nolint:gosec // a folder of the repository
	if err != nil {
		return nil, err
	}
	head, err := heads.ReadFile("heads/" + name + ".md")
	if err != nil {
		return nil, err
	}
	root, err := read(string(text))
	if err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	schema, err := json.MarshalIndent(document(name, root), "", "  ")
	if err != nil {
		return nil, err
	}
	page := strings.Replace(string(head), "{{values}}", tables(root), 1)
	return map[string][]byte{"values.schema.json": append(schema, '\n'), "README.md": []byte(page)}, nil
}
