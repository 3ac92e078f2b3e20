package defaults

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
)

// Schema is what the API server publishes of a kind.
type Schema struct {
	root       *spec.Schema
	components map[string]*spec.Schema
}

// ParseSchema reads the schema of a kind out of an OpenAPI v3 document of its
// group and version; nil: the document has none.
func ParseSchema(document []byte, kind schema.GroupVersionKind) (*Schema, error) {
	var parsed struct {
		Components struct {
			Schemas map[string]*spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &parsed); err != nil {
		return nil, err
	}
	all := parsed.Components.Schemas
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if isOf(all[name], kind) {
			s := &Schema{root: all[name], components: map[string]*spec.Schema{}}
			s.keep(all, s.root)
			return s, nil
		}
	}
	return nil, nil
}

func isOf(s *spec.Schema, kind schema.GroupVersionKind) bool {
	listed, _ := s.Extensions["x-kubernetes-group-version-kind"].([]any)
	for _, item := range listed {
		of, _ := item.(map[string]any)
		if of["group"] == kind.Group && of["version"] == kind.Version && of["kind"] == kind.Kind {
			return true
		}
	}
	return false
}

// keep keeps of all components those that a schema refers to: a document may
// have hundreds of others.
func (s *Schema) keep(all map[string]*spec.Schema, of *spec.Schema) {
	if of == nil {
		return
	}
	if name := reference(of); name != "" && s.components[name] == nil && all[name] != nil {
		s.components[name] = all[name]
		s.keep(all, all[name])
	}
	for i := range of.AllOf {
		s.keep(all, &of.AllOf[i])
	}
	for name := range of.Properties {
		property := of.Properties[name]
		s.keep(all, &property)
	}
	if of.Items != nil {
		s.keep(all, of.Items.Schema)
	}
	if of.AdditionalProperties != nil {
		s.keep(all, of.AdditionalProperties.Schema)
	}
}

// reference is the name of the component that a schema stands for.
func reference(s *spec.Schema) string {
	text := s.Ref.String()
	return text[strings.LastIndexByte(text, '/')+1:]
}

// node is a part of the schema, with references followed.
type node struct {
	*spec.Schema
	builtIn bool // it was found by a reference, which schemas of CRDs have not
}

// resolve follows references, which those of core kinds have in allOf. Without
// one it knows nothing, and everything goes.
func (s *Schema) resolve(of *spec.Schema) node {
	n := node{Schema: of}
	for range 16 {
		switch {
		case n.Schema == nil:
			return node{Schema: &spec.Schema{}, builtIn: true}
		case n.Ref.String() != "":
			n = node{Schema: s.components[reference(n.Schema)], builtIn: true}
		case len(n.AllOf) == 1 && n.AllOf[0].Ref.String() != "":
			n.Schema = &n.AllOf[0]
		default:
			return n
		}
	}
	return node{Schema: &spec.Schema{}, builtIn: true}
}

func (n node) has(extension string) bool {
	yes, _ := n.Extensions.GetBool(extension)
	return yes
}

// member is the schema of a member of an object. kept is false where the API
// server drops it; with a nil schema, anything may be there.
func (n node) member(name string) (member *spec.Schema, kept bool) {
	if property, ok := n.Properties[name]; ok {
		return &property, true
	}
	if n.has("x-kubernetes-preserve-unknown-fields") {
		return nil, true
	}
	if a := n.AdditionalProperties; a != nil {
		return a.Schema, a.Allows || a.Schema != nil
	}
	if n.has("x-kubernetes-embedded-resource") && (name == "apiVersion" || name == "kind" || name == "metadata") {
		return nil, true
	}
	// Of core kinds, that is raw JSON of any shape.
	return nil, n.builtIn && len(n.Properties) == 0
}

// types are those of JSON that the schema takes, with "integer" for whole
// numbers; none: all.
func (n node) types() []string {
	if n.has("x-kubernetes-int-or-string") {
		return []string{"integer", "string"}
	}
	if len(n.Type) > 0 {
		return n.Type
	}
	for _, choice := range [][]spec.Schema{n.OneOf, n.AnyOf} {
		var types []string
		for i := range choice {
			if len(choice[i].Type) == 0 {
				types = nil
				break
			}
			types = append(types, choice[i].Type...)
		}
		if len(types) > 0 {
			return types
		}
	}
	return nil
}

// shallow is the schema without what is inside of an object or a list; of a
// value that others may complete, without what only a whole one must keep.
func (n node) shallow(whole bool) *spec.Schema {
	s := *n.Schema
	s.Properties, s.AdditionalProperties, s.PatternProperties, s.Items, s.AdditionalItems = nil, nil, nil, nil, nil
	if n.has("x-kubernetes-int-or-string") {
		s.Type = spec.StringOrArray{"integer", "string"}
	}
	if !isChecked(&s) {
		s.Format = ""
	}
	if !whole {
		s.Required, s.MinProperties, s.AllOf, s.AnyOf, s.OneOf, s.Not = nil, nil, nil, nil, nil, nil
	}
	for _, choice := range []*[]spec.Schema{&s.AllOf, &s.AnyOf, &s.OneOf} {
		if slices.ContainsFunc(*choice, func(c spec.Schema) bool { return c.Ref.String() != "" }) {
			*choice = nil // the validator takes no references
		}
	}
	return &s
}

// isChecked tells whether the API server checks the format of a schema.
func isChecked(s *spec.Schema) bool {
	kind := ""
	if len(s.Type) == 1 {
		kind = s.Type[0]
	}
	switch kind {
	case "", "string":
		return strfmt.Default.ContainsName(s.Format)
	case "integer":
		return s.Format == "int32" || s.Format == "int64"
	case "number":
		return s.Format == "float" || s.Format == "double"
	}
	return false
}
