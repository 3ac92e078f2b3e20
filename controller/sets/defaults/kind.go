package defaults

import (
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
)

// kind judges what is known of the type of an expression without an object.
func (j *judge) kind(n node, field string, yields *types.Type) {
	if yields.Kind() == types.OpaqueKind && yields.TypeName() == "optional_type" {
		yields = yields.Parameters()[0]
	}
	have, want := jsonType(yields), n.types()
	if have == "" || len(want) == 0 {
		return
	}
	if !takes(want, have) {
		j.refuse(field, "the API server would refuse it: the expression yields type %s, the schema wants %s", have, strings.Join(want, " or "))
		return
	}
	if have == "array" && n.Items != nil && n.Items.Schema != nil {
		j.kind(j.schema.resolve(n.Items.Schema), field+"[]", yields.Parameters()[0])
	}
	if have == "object" && yields.Kind() == types.MapKind && len(n.Properties) == 0 && n.AdditionalProperties != nil && n.AdditionalProperties.Schema != nil {
		j.kind(j.schema.resolve(n.AdditionalProperties.Schema), field+"[]", yields.Parameters()[1])
	}
}

// takes tells whether a value of a type can be one of those wanted. A double
// may be a whole number.
func takes(want []string, have string) bool {
	if have == "integer" || have == "number" {
		return slices.Contains(want, "integer") || slices.Contains(want, "number")
	}
	return slices.Contains(want, have)
}

// jsonType is the JSON type that a type of CEL becomes; "": it is not known.
func jsonType(t *types.Type) string {
	switch t.Kind() {
	case types.BoolKind:
		return "boolean"
	case types.IntKind, types.UintKind:
		return "integer"
	case types.DoubleKind:
		return "number"
	case types.StringKind, types.BytesKind, types.DurationKind, types.TimestampKind:
		return "string"
	case types.ListKind:
		return "array"
	case types.MapKind:
		return "object"
	case types.StructKind:
		if strings.HasPrefix(t.TypeName(), "dogear.") {
			return "object"
		}
		return "string" // quantities, addresses, URLs, versions
	}
	return ""
}

// typeOf is the JSON type of a value, with "integer" for whole numbers.
func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int64:
		return "integer"
	case float64:
		if value == math.Trunc(value) {
			return "integer"
		}
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

func isOneOf(want []string, value any, nullable bool) bool {
	have := typeOf(value)
	return slices.Contains(want, have) || have == "integer" && slices.Contains(want, "number") || have == "null" && nullable
}
