package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

func TestFilesAreUpToDate(t *testing.T) {
	t.Parallel()
	for _, chart := range []string{"../../dogear", "../../dogear-crds"} {
		files, err := build(chart)
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range files {
			got, err := os.ReadFile(filepath.Join(chart, name)) //nolint:gosec // a file of the repository
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%s/%s differs from what values.yaml says: run make generate", chart, name)
			}
		}
	}
}

const sample = `
# Of no value.

# ## First section

# How many.
# @schema {minimum: 0, maximum: 9}
replicas: 2

# The web | server.
web:
  # Its address.
  # @schema {pattern: "^https:"}
  url: ""
  # Free.
  # @schema map
  resources: {limits: {cpu: 1}}

# ## Second section

# Whatever it takes,
# and more.
# @schema {items: {required: [name], properties: {name: {type: string}, port: port}}}
list: []
# A choice.
# @schema {enum: [one, two]}
choice: one
# Or not.
active: true
`

func TestTables(t *testing.T) {
	t.Parallel()
	root, err := read(sample)
	if err != nil {
		t.Fatal(err)
	}
	want := `### First section

| value | default | |
| --- | --- | --- |
| ¦replicas¦ | ¦2¦ | How many. 0 to 9. |
| ¦web¦ | | The web \| server. |
| ¦web.url¦ |  | Its address. |
| ¦web.resources¦ | ¦{"limits":{"cpu":1}}¦ | Free. |

### Second section

| value | default | |
| --- | --- | --- |
| ¦list¦ | ¦[]¦ | Whatever it takes, and more. |
| ¦choice¦ | ¦one¦ | A choice. One of ¦one¦, ¦two¦. |
| ¦active¦ | ¦true¦ | Or not. |`
	if got := tables(root); got != strings.ReplaceAll(want, "¦", "`") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	root, err := read(sample)
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t, document("sample", root))
	for values, ok := range map[string]bool{
		"{}":                           true,
		"replicas: 9":                  true,
		"replicas: 10":                 false,
		"replicas: two":                false,
		"replicas: null":               true,
		"web: null":                    true,
		"web: {url: 'https://x'}":      true,
		"web: {url: 'http://x'}":       false,
		"web: {uri: x}":                false,
		"web: {resources: {any: 1}}":   true,
		"list: [{name: x, port: 1}]":   true,
		"list: [{name: x, port: 0}]":   false,
		"list: [{name: x, more: 1}]":   false,
		"list: [{port: 1}]":            false,
		"list: [{name: null}]":         true,
		"choice: two":                  true,
		"choice: three":                false,
		"choice: null":                 true,
		"active: yes":                  true,
		"active: maybe":                false,
		"more: 1":                      false,
		"global: {image: {tag: x}}":    true,
		"{enabled: true, replicas: 1}": true,
	} {
		var parsed any
		if err := yaml.Unmarshal([]byte(values), &parsed); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(parsed); (err == nil) != ok {
			t.Errorf("%s: %v", values, err)
		}
	}
}

func compile(t *testing.T, document shape) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("values.schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func TestWhatCannotBeToldIsAnError(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ values, want string }{
		"no comment":          {"a: 1", "line 1: a: no comment says what it is for"},
		"no comment below":    {"a:\n  b: x", "line 1: a: line 2: a.b: no comment says what it is for"},
		"a far comment":       {"# It.\n\na: 1", "a: no comment says what it is for"},
		"an empty map":        {"# It.\na: {}", "a: an empty map: say behind @schema what it may have"},
		"a list of anything":  {"# It.\na: []", "a: a list: say behind @schema what its items may be"},
		"null":                {"# It.\na: null", `a: a default "null": want a text`},
		"no such shape":       {"# It.\n# @schema square\na: 1", `a: @schema: there is no shape "square"`},
		"no such shape in it": {"# It.\n# @schema {items: {properties: {b: square}}}\na: []", `there is no shape "square"`},
		"no schema":           {"# It.\n# @schema [1]\na: 1", "a: @schema: [1] is neither a word nor a map"},
		"no YAML":             {"# It.\n# @schema {\na: 1", "a: @schema: yaml:"},
	} {
		if _, err := read(test.values); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v: want %q", name, err, test.want)
		}
	}
}
