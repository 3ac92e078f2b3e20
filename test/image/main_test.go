//go:build linux

// Package image looks at how the image is built, as far as that goes without a
// container engine: the Dockerfile's own build command is run, and the program
// that comes of it, in a root that holds nothing else.
package image

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/dogear-dev/dogear/test/rig"
)

func TestMain(m *testing.M) {
	if args := os.Getenv(insideVariable); args != "" {
		os.Exit(inside(strings.Fields(args)))
	}
	code := m.Run()
	for _, cleanup := range cleanups {
		if err := cleanup(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// cleanups are done after all tests.
var cleanups []func() error

func root(t *testing.T) string {
	t.Helper()
	root, err := rig.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root(t)}, path...)...)) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// instructions are those of the Dockerfile, each on one line.
func instructions(t *testing.T) []string {
	t.Helper()
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(read(t, "Dockerfile"), "")
	text = regexp.MustCompile(`\\\n\s*`).ReplaceAllString(text, "")
	return strings.Split(strings.TrimSpace(text), "\n")
}

// instruction returns what follows the words at the beginning of the only
// instruction that begins so.
func instruction(t *testing.T, words string) string {
	t.Helper()
	var found []string
	for _, line := range instructions(t) {
		if rest, ok := strings.CutPrefix(line, words+" "); ok {
			found = append(found, rest)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the Dockerfile has %d instructions %s", len(found), words)
	}
	return found[0]
}
