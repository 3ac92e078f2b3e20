package main

import (
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"
)

// shape is a JSON schema.
type shape map[string]any

// shapes are words for schemas.
var shapes = map[string]shape{
	"map":      {"type": "object"},
	"texts":    {"type": "object", "additionalProperties": shape{"type": []any{"string", "number", "boolean", "null"}}},
	"duration": {"type": "string", "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?$", "minLength": 1},
	"account":  {"type": "string", "pattern": "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$", "maxLength": 253},
	"interval": {"type": "string", "pattern": "^([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$"},
	"port":     {"type": "integer", "minimum": 1, "maximum": 65535},
	"share":    {"type": []any{"string", "integer"}, "pattern": "^([0-9]+%)?$", "minimum": 0},
	"strategy": {"properties": shape{
		"type":          shape{"type": "string", "enum": []any{"RollingUpdate", "Recreate"}},
		"rollingUpdate": shape{"properties": shape{"maxSurge": "share", "maxUnavailable": "share"}},
	}},
	"named": {"required": []any{"namespace"}, "properties": shape{
		"namespace": shape{"type": "string", "minLength": 1},
		"names":     shape{"items": shape{"type": "string", "minLength": 1}},
	}},
}

// parseShape reads what follows @schema: nil, if nothing does.
func parseShape(directive string) (shape, error) {
	if directive == "" {
		return nil, nil
	}
	var said any
	if err := yaml.Unmarshal([]byte(directive), &said); err != nil {
		return nil, fmt.Errorf("@schema: %w", err)
	}
	return spell(said)
}

// spell replaces words by their schemas, and says of maps and lists that they
// are. A map with properties has no others.
func spell(said any) (shape, error) {
	if word, ok := said.(string); ok {
		known, ok := shapes[word]
		if !ok {
			return nil, fmt.Errorf("@schema: there is no shape %q", word)
		}
		return spell(known)
	}
	s, ok := asShape(said)
	if !ok {
		return nil, fmt.Errorf("@schema: %v is neither a word nor a map", said)
	}
	s = maps.Clone(s)
	if properties, ok := asShape(s["properties"]); ok {
		spelt := shape{}
		for name, property := range properties {
			inner, err := spell(property)
			if err != nil {
				return nil, err
			}
			spelt[name] = inner.orNull()
		}
		s["type"], s["properties"], s["additionalProperties"] = "object", spelt, false
	}
	if items, ok := s["items"]; ok {
		inner, err := spell(items)
		if err != nil {
			return nil, err
		}
		s["type"], s["items"] = "array", inner
	}
	return s, nil
}

func asShape(v any) (shape, bool) {
	switch v := v.(type) {
	case shape:
		return v, true
	case map[string]any:
		return v, true
	}
	return nil, false
}

// complete says of which type the default value is, where s does not.
func (s shape) complete(node *yaml.Node) (shape, error) {
	types := map[string]string{"!!str": "string", "!!int": "integer", "!!float": "number", "!!bool": "boolean", "!!map": "object", "!!seq": "array"}
	is, ok := types[node.Tag]
	if !ok {
		return nil, fmt.Errorf("a default %q: want a text, number, list, map, true or false", node.Value)
	}
	full := shape{"type": is}
	maps.Copy(full, s)
	if is == "array" && full["items"] == nil {
		return nil, fmt.Errorf("a list: say behind @schema what its items may be, such as {items: {type: string}}")
	}
	return full, nil
}

// orNull lets null stand for it, too.
func (s shape) orNull() shape {
	s = maps.Clone(s)
	switch t := s["type"].(type) {
	case string:
		s["type"] = []any{t, "null"}
	case []any:
		s["type"] = append(append([]any{}, t...), "null")
	}
	if enum, ok := s["enum"].([]any); ok {
		s["enum"] = append(append([]any{}, enum...), nil)
	}
	return s
}

// schema of a value.
func (v *value) schema() shape {
	s := shape{}
	if v.mapping {
		properties := shape{}
		for _, part := range v.parts {
			properties[part.name] = part.schema()
		}
		s = shape{"type": "object", "properties": properties, "additionalProperties": false}
	} else {
		maps.Copy(s, v.shape)
		s["default"] = v.initial
	}
	if v.text != "" {
		s["description"] = v.text
	}
	return s.orNull()
}

// document is the schema of all values. What Helm itself puts there for a chart
// that another one depends on is not refused.
func document(chart string, root *value) shape {
	s := root.schema()
	properties := s["properties"].(shape)
	properties["global"] = shape{"type": []any{"object", "null"}, "description": "What the charts of a release share; not looked at."}
	properties["enabled"] = shape{"type": []any{"boolean", "null"}, "description": "For the condition of a chart that depends on this one; not looked at."}
	s["$schema"], s["title"], s["type"] = "http://json-schema.org/draft-07/schema#", "Values of the chart "+chart, "object"
	return s
}
