package service

import (
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets/expression"
)

// The sets that the documentation shows can be applied as they are.
func TestSetsOfTheDocumentation(t *testing.T) {
	b := newBench(t)
	n := 0
	for _, page := range []string{"README.md", "docs/service.md", "docs/recipes.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range yamlBlocks(string(text)) {
			if !strings.Contains(block, "kind: ClusterHandlerSet") {
				continue
			}
			n++
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(block), &u.Object); err != nil {
				t.Errorf("%s: %v\n%s", page, err, block)
				continue
			}
			if err := b.admin.Create(b.Context(), u, client.DryRunAll); err != nil {
				t.Errorf("%s: %v\n%s", page, err, block)
			}
			set := &v1alpha1.ClusterHandlerSet{}
			if err := yaml.UnmarshalStrict([]byte(block), set); err != nil {
				t.Errorf("%s: %v\n%s", page, err, block)
			}
			if problems := v1alpha1.Validate(set, expression.Check); len(problems) > 0 {
				t.Errorf("%s: %v\n%s", page, problems.ToAggregate(), block)
			}
		}
	}
	if n < 6 {
		t.Errorf("only %d sets found", n)
	}
}

// yamlBlocks are the YAML blocks of a page, without their indentation.
func yamlBlocks(page string) (blocks []string) {
	var block []string
	in, indent := false, ""
	for line := range strings.Lines(page) {
		trimmed := strings.TrimLeft(line, " ")
		switch {
		case !in && strings.HasPrefix(trimmed, "```yaml"):
			in, indent, block = true, line[:len(line)-len(trimmed)], nil
		case in && strings.HasPrefix(trimmed, "```"):
			in = false
			blocks = append(blocks, strings.Join(block, ""))
		case in:
			block = append(block, strings.TrimPrefix(line, indent))
		}
	}
	return blocks
}
