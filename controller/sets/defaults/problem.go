package defaults

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets/expression"
	"github.com/dogear-dev/dogear/storage"
)

// Problem is a default that the API server would drop or refuse.
type Problem struct {
	// Default is where it is declared: "values" or "computed[2]".
	Default string
	// Field is the path in the object, such as "spec.dnsNames[0]".
	Field string
	// Dropped tells that the API server would drop the field in silence; else
	// it would refuse the object, and so the user's request.
	Dropped bool
	// Message says why.
	Message string
}

func (p Problem) String() string { return p.Default + ": " + p.Field + ": " + p.Message }

// Problems judges declared defaults by the schema of their resource; nil: there
// is none, and nothing to say. Rules in CEL are not looked at, nor what a user's
// object and the defaults make up together.
func Problems(d *v1alpha1.Defaults, s *Schema) []Problem {
	values, err := d.DecodeValues()
	if s == nil || err != nil {
		return nil
	}
	j := &judge{schema: s, in: "values"}
	for _, name := range []string{"apiVersion", "kind", "status"} {
		delete(values, name) // refused by v1alpha1.Validate
	}
	j.value(j.schema.resolve(s.root), "", values, false)
	for i := range d.Computed {
		j.in = fmt.Sprintf("computed[%d]", i)
		j.computed(&d.Computed[i])
	}
	return j.problems
}

type judge struct {
	schema   *Schema
	in       string
	problems []Problem
}

const dropped = "the schema has no such field: the API server would drop it"

func (j *judge) drop(field string) {
	j.problems = append(j.problems, Problem{Default: j.in, Field: field, Dropped: true, Message: dropped})
}

func (j *judge) refuse(field, format string, args ...any) {
	j.problems = append(j.problems, Problem{Default: j.in, Field: field, Message: fmt.Sprintf(format, args...)})
}

// value judges a value. One that is not whole is merged into what the user has.
func (j *judge) value(n node, field string, value any, whole bool) {
	switch value := value.(type) {
	case nil:
		if !whole {
			return // fills in nothing
		}
	case map[string]any:
		if !j.shallow(n, field, value, whole) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(value)) {
			at := join(field, name)
			member, kept := n.member(name)
			switch {
			case !kept:
				j.drop(at)
			case member != nil:
				j.value(j.schema.resolve(member), at, value[name], whole)
			}
		}
		return
	case []any:
		if !j.shallow(n, field, value, true) {
			return
		}
		j.items(n, field, value)
		return
	}
	j.shallow(n, field, value, true)
}

func (j *judge) items(n node, field string, list []any) {
	if key, twice := duplicate(n, list); twice {
		j.refuse(field, "two items have the same %s", key)
	}
	if n.Items == nil || n.Items.Schema == nil {
		return
	}
	of := j.schema.resolve(n.Items.Schema)
	for i, item := range list {
		j.value(of, fmt.Sprintf("%s[%d]", field, i), item, true)
	}
}

// duplicate finds items that a list of the schema's list type cannot have both.
func duplicate(n node, list []any) (key string, twice bool) {
	kind, _ := n.Extensions.GetString("x-kubernetes-list-type")
	keys, _ := n.Extensions.GetStringSlice("x-kubernetes-list-map-keys")
	seen := map[string]bool{}
	for _, item := range list {
		var id string
		switch kind {
		case "set":
			key, id = "value", string(storage.AppendCanonical(nil, item))
		case "map":
			m, _ := item.(map[string]any)
			key = strings.Join(keys, " and ")
			for _, name := range keys {
				id += string(storage.AppendCanonical(nil, m[name])) + "\x00"
			}
		default:
			return "", false
		}
		if seen[id] {
			return key, true
		}
		seen[id] = true
	}
	return "", false
}

// shallow judges a value but for what is inside of it, by the rules of the API
// server, and tells whether its type is right.
func (j *judge) shallow(n node, field string, value any, whole bool) bool {
	if want := n.types(); len(want) > 0 && !isOneOf(want, value, n.Nullable) {
		j.refuse(field, "the API server would refuse it: must be of type %s, not %s", strings.Join(want, " or "), typeOf(value))
		return false
	}
	result := validate.NewSchemaValidator(n.shallow(whole), nil, field, strfmt.Default).Validate(value)
	for _, err := range result.Errors {
		text := strings.TrimSuffix(strings.ReplaceAll(err.Error(), " in body ", " "), " in "+field)
		for _, start := range []string{field + " ", field + ".", "Checked value "} {
			text = strings.TrimPrefix(text, start)
		}
		j.refuse(field, "the API server would refuse it: %s", text)
	}
	return result.IsValid()
}

func (j *judge) computed(d *v1alpha1.ComputedDefault) {
	c, err := compileComputed(d)
	if err != nil {
		return // refused by v1alpha1.Validate
	}
	n, field := j.schema.resolve(j.schema.root), ""
	for _, name := range c.names {
		if types := n.types(); len(types) > 0 && !slices.Contains(types, "object") {
			j.refuse(field, "the API server would refuse a field in it: the schema wants type %s", strings.Join(types, " or "))
			return
		}
		field = join(field, name)
		member, kept := n.member(name)
		switch {
		case !kept:
			j.drop(field)
			return
		case member == nil:
			return
		}
		n = j.schema.resolve(member)
	}
	if c.value.IsConstant() {
		if value, err := c.value.Value(nil, expression.Request{}, nil); err == nil {
			if err := c.check(value); err != nil {
				j.refuse(field, "%s", err)
			} else if value != nil {
				j.value(n, field, value, true)
			}
			return
		}
	}
	j.kind(n, field, c.value.Type())
}

// join adds a name to a path, in the words of v1alpha1.ComputedDefault.
func join(path, name string) string {
	if strings.ContainsAny(name, " .*'\"[]=/") {
		return path + "['" + name + "']"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}
