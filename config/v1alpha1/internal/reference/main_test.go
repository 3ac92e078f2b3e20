package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestThePageIsUpToDate(t *testing.T) {
	t.Parallel()
	want, err := build("../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../../docs/handlersets.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/handlersets.md differs from what the types say: run make generate")
	}
}

// package1 writes a package of one file and reads it.
func package1(t *testing.T, source string) (pkg, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"+source), 0o600); err != nil {
		t.Fatal(err)
	}
	return parsePackage(dir)
}

func TestATableTellsTypeDefaultAndDuty(t *testing.T) {
	t.Parallel()
	p, err := package1(t, `
// A is a type.
type A struct {
	Inner `+"`json:\",inline\"`"+`
	// The kind | of it.
	// +kubebuilder:default=One
	B *B `+"`json:\"b,omitempty\"`"+`
	// Some.
	// +required
	C []C `+"`json:\"c\"`"+`
}

// B is a choice.
//
// +kubebuilder:validation:Enum=One;Two
type B string

// C is another type.
type C struct {
	// Texts.
	D map[string]*string `+"`json:\"d\"`"+`
}

// Inner is inlined.
type Inner struct {
	// A number.
	N int64 `+"`json:\"n\"`"+`
}
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.reference([]string{"A"})
	if err != nil {
		t.Fatal(err)
	}
	want := `### A

A is a type.

| field | type | |
| --- | --- | --- |
| ` + "`n`" + ` | integer | A number. |
| ` + "`b` | `One`, `Two`" + ` | The kind \| of it. Default: One. |
| ` + "`c`" + ` (required) | list of [C](#c) | Some. |

### C

C is another type.

| field | type | |
| --- | --- | --- |
| ` + "`d`" + ` | map of string | Texts. |`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWhatCannotBeToldIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ source, want string }{
		"a field without a comment": {"type A struct {\n\tB string `json:\"b\"`\n}", `type A: field "b" has no comment`},
		"a type without words":      {"type A struct {\n\t// It.\n\tB chan int `json:\"b\"`\n}", `type A: field "b": no words for a *ast.ChanType`},
		"a type that is missing":    {"type A struct {\n\t// It.\n\tB other.B `json:\"b\"`\n}", `type A: field "b": no words for type other.B`},
		"no root":                   {"", "there is no type A"},
	} {
		p, err := package1(t, test.source)
		if err == nil {
			_, err = p.reference([]string{"A"})
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v: want %q", name, err, test.want)
		}
	}
}
