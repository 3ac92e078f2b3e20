package render

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// pages are those that tell of the chart.
var pages = []string{"install.md", "gitops.md", "ha.md", "upgrade.md", "service.md", "uninstall.md", "troubleshooting.md", "check.md"}

// code returns the blocks of a language in a page.
func code(t *testing.T, page, language string) (blocks []string) {
	t.Helper()
	for _, block := range regexp.MustCompile("(?m)^ *```"+language+"\n((?s:.*?))^ *```$").FindAllStringSubmatch(read(t, "docs", page), -1) {
		indent := regexp.MustCompile(`^ *`).FindString(block[1])
		blocks = append(blocks, regexp.MustCompile("(?m)^"+indent).ReplaceAllString(block[1], ""))
	}
	return blocks
}

// Values in the documentation are accepted: those by themselves, those that a
// command writes into a file, and those in the objects of Argo CD and Flux.
func TestValuesInTheDocumentation(t *testing.T) {
	t.Parallel()
	count := 0
	for _, page := range pages {
		blocks := code(t, page, "yaml")
		for _, block := range code(t, page, "console") {
			for _, file := range regexp.MustCompile(`(?s)\$ cat >values\.yaml <<END\n(.*?)\nEND\n`).FindAllStringSubmatch(block, -1) {
				blocks = append(blocks, file[1])
			}
		}
		for _, block := range blocks {
			for document := range strings.SplitSeq(block, "\n---\n") {
				for name, values := range valuesIn(t, page, document) {
					count++
					text, err := yaml.Marshal(values)
					if err != nil {
						t.Fatal(err)
					}
					file := filepath.Join(t.TempDir(), "values.yaml")
					if err := os.WriteFile(file, text, 0o600); err != nil {
						t.Fatal(err)
					}
					if _, err := helm(t, "template", release, chart(t, name), "-f", file); err != nil {
						t.Errorf("%s: %v\n%s", page, err, document)
					}
				}
			}
		}
	}
	if count < 8 {
		t.Errorf("there are %d only", count)
	}
}

// The values to copy are those that are tested.
func TestTheValuesForHighAvailability(t *testing.T) {
	t.Parallel()
	_, file, _ := strings.Cut(read(t, "charts", "dogear", "ci", "ha-values.yaml"), "\n") // a comment comes first
	if blocks := code(t, "ha.md", "yaml"); len(blocks) != 1 || blocks[0] != file {
		t.Errorf("docs/ha.md has\n%s\nand the file\n%s", strings.Join(blocks, "\n---\n"), file)
	}
}

// valuesIn are the values in a document, by the chart that they are for.
func valuesIn(t *testing.T, page, document string) map[string]any {
	t.Helper()
	var o struct {
		Kind string
		Spec struct {
			Source struct {
				Chart string
				Helm  struct{ ValuesObject map[string]any }
			}
			Chart  struct{ Spec struct{ Chart string } }
			Values map[string]any
		}
	}
	var all map[string]any
	if err := yaml.UnmarshalStrict([]byte(document), &all); err != nil {
		t.Fatalf("%s: %v\n%s", page, err, document)
	}
	if err := yaml.Unmarshal([]byte(document), &o); err != nil {
		t.Fatalf("%s: %v\n%s", page, err, document)
	}
	switch {
	case o.Kind == "Application":
		return map[string]any{o.Spec.Source.Chart: o.Spec.Source.Helm.ValuesObject}
	case o.Kind == "HelmRelease":
		return map[string]any{o.Spec.Chart.Spec.Chart: o.Spec.Values}
	case o.Kind != "" || all["spec"] != nil:
		return nil // an object of something else
	}
	return map[string]any{"dogear": all}
}

// Commands of helm in the documentation have values that there are.
func TestCommandsOfHelmInTheDocumentation(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile(`'[^']*'|\S+`)
	count := 0
	for _, page := range pages {
		for _, block := range code(t, page, "console") {
			block = strings.ReplaceAll(block, "\\\n", " ")
			for line := range strings.SplitSeq(block, "\n") {
				command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ helm ")
				if !ok || !regexp.MustCompile(`^(install|upgrade) \S+ (oci://ghcr.io/dogear-dev/charts/|charts/)`).MatchString(command) {
					continue
				}
				command, _, _ = strings.Cut(command, " #")
				count++
				words := quoted.FindAllString(command, -1)
				args := []string{"template", words[1], chart(t, filepath.Base(words[2]))}
				for i := 3; i < len(words); i++ {
					switch word := strings.Trim(words[i], "'"); word {
					case "--wait", "--reuse-values": // nothing to a template
					case "-f", "--timeout":
						i++
					default:
						args = append(args, word)
					}
				}
				if _, err := helm(t, args...); err != nil {
					t.Errorf("%s: helm %s: %v", page, command, err)
				}
			}
		}
	}
	if count < 4 {
		t.Errorf("there are %d only", count)
	}
}

// What the documentation calls a value is one.
func TestNamesOfValuesInTheDocumentation(t *testing.T) {
	t.Parallel()
	root := map[string]any{}
	if err := yaml.Unmarshal([]byte(read(t, "charts", "dogear", "values.yaml")), &root); err != nil {
		t.Fatal(err)
	}
	names := "`((?:" + strings.Join(slices.Sorted(maps.Keys(root)), "|") + `)(?:\.[a-zA-Z]+)+)[:= ` + "`]"
	for _, page := range pages[:4] {
		for _, match := range regexp.MustCompile(names).FindAllStringSubmatch(read(t, "docs", page), -1) {
			var node any = root
			for part := range strings.SplitSeq(match[1], ".") {
				at, ok := node.(map[string]any)
				if !ok || at[part] == nil {
					t.Errorf("%s: there is no value %s", page, match[1])
					break
				}
				node = at[part]
			}
		}
	}
}
