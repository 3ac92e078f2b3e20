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
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "values:", err)
		os.Exit(1)
	}
}

func run(chart string) error {
	files, err := build(chart)
	if err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(chart, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// build returns the files of a chart by their names.
func build(chart string) (map[string][]byte, error) {
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml")) //nolint:gosec // a folder of the repository
	if err != nil {
		return nil, err
	}
	head, err := heads.ReadFile("heads/" + filepath.Base(chart) + ".md")
	if err != nil {
		return nil, err
	}
	root, err := read(string(text))
	if err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	schema, err := json.MarshalIndent(document(filepath.Base(chart), root), "", "  ")
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"values.schema.json": append(schema, '\n'),
		"README.md":          []byte(strings.Replace(string(head), "{{values}}", tables(root), 1)),
	}, nil
}
