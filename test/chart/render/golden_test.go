package render

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// goldens are the sets of values whose objects are looked at line by line.
var goldens = []string{"default", "ha", "cert-manager", "provided-secret", "namespaced", "everything-on", "minimal"}

// short leaves out what changes with each release, and what is long and has a
// test of its own: CRDs and the dashboard.
func short(text, version string) string {
	documents := slices.DeleteFunc(strings.Split(text, "\n---\n"), func(d string) bool {
		return strings.Contains(d, "kind: CustomResourceDefinition\n")
	})
	text = checksum.ReplaceAllString(strings.Join(documents, "\n---\n"), "${1}…")
	text = dashboard.ReplaceAllString(text, "${1} …\n")
	return strings.TrimRight(strings.ReplaceAll(text, version, "VERSION"), "\n") + "\n"
}

var (
	checksum  = regexp.MustCompile(`(checksum/settings: )[0-9a-f]{64}`)
	dashboard = regexp.MustCompile(`(dogear\.json:) \|\n(    .*\n)+`)
)

func TestTheChartRendersAsItDid(t *testing.T) {
	t.Parallel()
	sets := valuesSets(t)
	for _, name := range goldens {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := template(t, "-f", sets[name])
			if err != nil {
				t.Fatal(err)
			}
			got := short(text, metadata(t, "dogear").Version)
			file := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file) //nolint:gosec // a golden
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("differs (go test ./test/chart/render -run Renders -update writes it anew, to be read before it is committed):\n%s", diff)
			}
		})
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	for name, file := range valuesSets(t) {
		if out, err := helm(t, "lint", "--strict", chart(t, "dogear"), "-f", file); err != nil {
			t.Errorf("%s: %s", name, out)
		}
	}
	if out, err := helm(t, "lint", "--strict", chart(t, "dogear-crds")); err != nil {
		t.Error(out)
	}
}
