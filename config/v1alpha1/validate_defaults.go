package v1alpha1

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/json"
)

// object is a JSON object.
type object = map[string]any

// DecodeValues returns the values of defaults as a new object, with whole
// numbers as int64; empty where there are none.
func (d *Defaults) DecodeValues() (map[string]any, error) {
	values := object{}
	if d == nil || d.Values == nil || len(d.Values.Raw) == 0 {
		return values, nil
	}
	if err := json.UnmarshalCaseSensitivePreserveInts(d.Values.Raw, &values); err != nil {
		return nil, err
	}
	return values, nil
}

func (v *validator) defaults(at *field.Path) {
	values, err := v.spec.Defaults.DecodeValues()
	if err != nil {
		v.invalid(at.Child("values"), string(v.spec.Defaults.Values.Raw), "want an object: %s", err)
	}
	v.values(at.Child("values"), values)
	for i, computed := range v.spec.Defaults.Computed {
		at := at.Child("computed").Index(i)
		v.computedPath(at.Child("path"), computed.Path)
		v.expression(at.Child("expression"), ExpressionDefault, computed.Expression)
	}
}

func (v *validator) values(at *field.Path, values object) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := at.Child(key)
		switch key {
		case "apiVersion", "kind", "status":
			v.errs = append(v.errs, field.Forbidden(at, "it cannot be filled in"))
		case "metadata":
			metadata, ok := values[key].(object)
			if !ok {
				v.invalid(at, values[key], "want an object with labels and annotations")
			}
			v.metadata(at, metadata)
		}
	}
}

func (v *validator) metadata(at *field.Path, metadata object) {
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		at := at.Child(name)
		if name != "labels" && name != "annotations" {
			v.errs = append(v.errs, field.Forbidden(at, "of metadata only labels and annotations can be filled in"))
			continue
		}
		entries, ok := metadata[name].(object)
		if !ok {
			v.invalid(at, metadata[name], "want an object of texts")
		}
		for _, key := range slices.Sorted(maps.Keys(entries)) {
			text, ok := entries[key].(string)
			if !ok {
				v.invalid(at.Key(key), entries[key], "want a text: put it in quotes")
			}
			v.entry(at.Key(key), name, key)
			if name != "labels" {
				continue
			}
			for _, problem := range validation.IsValidLabelValue(text) {
				v.invalid(at.Key(key), text, "%s", problem)
			}
		}
	}
}

// entry checks the key of a label or annotation.
func (v *validator) entry(at *field.Path, name, key string) {
	if name == "labels" {
		v.label(at, key)
	} else {
		v.annotation(at, key)
	}
}

func (v *validator) computedPath(at *field.Path, text string) {
	path, ok := v.path(at, text)
	if !ok {
		return
	}
	names, ok := path.Names()
	if !ok {
		v.invalid(at, text, "items of lists cannot be filled in: name a field such as spec.secretName")
		return
	}
	switch names[0] {
	case "apiVersion", "kind", "status":
		v.invalid(at, text, "%s cannot be filled in", names[0])
	case "metadata":
		if len(names) != 3 || names[1] != "labels" && names[1] != "annotations" {
			v.invalid(at, text, "of metadata a label or an annotation can be filled in, such as metadata.labels['example.com/team']")
			return
		}
		v.entry(at, names[1], names[2])
	}
}
