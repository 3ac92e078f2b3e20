// Command reference writes docs/handlersets.md: the page in head.md with the
// worked example, and behind it a table for each type of the package, made of
// the comments and markers in its source.
//
//	reference <folder of the package> <file to write>
package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed head.md
var head string

// roots are the types that the reference begins with; those that they use follow.
var roots = []string{"ClusterHandlerSet", "HandlerSet", "HandlerReview"}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: reference <folder of the package> <file to write>")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(dir, file string) error {
	page, err := build(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

// build returns the page for the package in dir.
func build(dir string) (string, error) {
	example, err := os.ReadFile(filepath.Join(dir, "testdata", "full.yaml")) //nolint:gosec // a folder of the repository
	if err != nil {
		return "", err
	}
	pkg, err := parsePackage(dir)
	if err != nil {
		return "", err
	}
	tables, err := pkg.reference(roots)
	if err != nil {
		return "", err
	}
	return strings.NewReplacer("{{example}}", strings.TrimSpace(string(example)), "{{reference}}", tables).Replace(head), nil
}
