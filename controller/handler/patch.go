package handler

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Patch collects changes of an object's labels, annotations and spec.
// Setting what is there already writes nothing. The zero value is empty.
type Patch struct {
	labels, annotations map[string]*string
	fields              map[string]any // merge patch of the top-level fields but metadata and status
}

// SetLabel sets a label.
func (p *Patch) SetLabel(key, value string) { set(&p.labels, key, &value) }

// RemoveLabel removes a label.
func (p *Patch) RemoveLabel(key string) { set(&p.labels, key, nil) }

// SetAnnotation sets an annotation. Those of Dogear are refused.
func (p *Patch) SetAnnotation(key, value string) { set(&p.annotations, key, &value) }

// RemoveAnnotation removes an annotation. Those of Dogear are refused.
func (p *Patch) RemoveAnnotation(key string) { set(&p.annotations, key, nil) }

func set(m *map[string]*string, key string, value *string) {
	if *m == nil {
		*m = map[string]*string{}
	}
	(*m)[key] = value
}

// SetSpec sets the field of spec at the path to any value that encodes to
// JSON: SetSpec("90d", "duration"). Lists are replaced as a whole; an object
// is merged into the one that is there, and its null members are removed.
// It fails where the path is empty or the value does not encode.
func (p *Patch) SetSpec(value any, path ...string) error {
	plain, err := plainValue(value)
	if err != nil {
		return err
	}
	return p.setField(plain, append([]string{"spec"}, path...))
}

// RemoveSpec removes the field of spec at the path.
func (p *Patch) RemoveSpec(path ...string) error {
	return p.setField(nil, append([]string{"spec"}, path...))
}

// SetField sets a top-level field, or one below it, for kinds without a spec:
// SetField("value", "data", "key"). metadata and status are refused.
func (p *Patch) SetField(value any, path ...string) error {
	plain, err := plainValue(value)
	if err != nil {
		return err
	}
	return p.setField(plain, path)
}

func (p *Patch) setField(value any, path []string) error {
	if len(path) == 0 || (path[0] == "spec" && len(path) == 1) {
		return fmt.Errorf("patch: the path is empty: name a field")
	}
	switch path[0] {
	case "metadata", "status", "apiVersion", "kind":
		return fmt.Errorf("patch: %s cannot be set: only labels, annotations and fields such as spec can", path[0])
	}
	if p.fields == nil {
		p.fields = map[string]any{}
	}
	m := p.fields
	for _, name := range path[:len(path)-1] {
		child, ok := m[name].(map[string]any)
		if !ok {
			child = map[string]any{}
			m[name] = child
		}
		m = child
	}
	m[path[len(path)-1]] = value
	return nil
}

// clone is a copy that shares nothing with p; of nil it is empty.
func (p *Patch) clone() *Patch {
	if p == nil {
		return &Patch{}
	}
	fields, _ := copyValue(p.fields).(map[string]any)
	return &Patch{labels: maps.Clone(p.labels), annotations: maps.Clone(p.annotations), fields: fields}
}

// IsEmpty tells whether nothing was set.
func (p *Patch) IsEmpty() bool {
	return p == nil || len(p.labels)+len(p.annotations)+len(p.fields) == 0
}

// MergePatch returns the changes as a JSON merge patch; nil where there are
// none. It fails where an annotation is Dogear's, and where the API server
// would refuse a label or an annotation. That makes the attempt a permanent
// failure with ReasonBadPatch: another one would end the same way.
func (p *Patch) MergePatch() (map[string]any, error) {
	if p.IsEmpty() {
		return nil, nil
	}
	merge := make(map[string]any, len(p.fields)+1)
	for key, value := range p.fields {
		merge[key] = value
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	metadata := map[string]any{}
	addStrings(metadata, "labels", p.labels)
	addStrings(metadata, "annotations", p.annotations)
	if len(metadata) > 0 {
		merge["metadata"] = metadata
	}
	return merge, nil
}

// check refuses what the API server would: its answer would come too late for
// the handler, and hold up the outcome.
func (p *Patch) check() error {
	var errs []error
	for key, value := range p.labels {
		problems := validation.IsQualifiedName(key)
		if value != nil {
			problems = append(problems, validation.IsValidLabelValue(*value)...)
		}
		for _, problem := range problems {
			errs = append(errs, fmt.Errorf("patch: label %q: %s", key, problem))
		}
	}
	for key := range p.annotations {
		if isDogears(key) {
			errs = append(errs, fmt.Errorf("patch: annotation %q is Dogear's own", key))
		}
		for _, problem := range validation.IsQualifiedName(strings.ToLower(key)) {
			errs = append(errs, fmt.Errorf("patch: annotation %q: %s", key, problem))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func addStrings(metadata map[string]any, name string, values map[string]*string) {
	if len(values) == 0 {
		return
	}
	m := make(map[string]any, len(values))
	for key, value := range values {
		m[key] = nil
		if value != nil {
			m[key] = *value
		}
	}
	metadata[name] = m
}
