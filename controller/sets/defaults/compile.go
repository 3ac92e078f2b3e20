package defaults

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/sets/expression"
	"github.com/dogear-dev/dogear/storage"
)

// Namespaces returns the namespace that expressions see; nil: it is not known.
// What it returns is not changed.
type Namespaces = func(name string) (map[string]any, error)

// Function is a [handler.Registration]'s function for defaults. Its object
// counts also where it comes with an error.
type Function = func(*unstructured.Unstructured, handler.Admission) (*unstructured.Unstructured, error)

// Compile makes a function of declared defaults. The function returns a copy of
// the object with what is absent filled in: first the values, then what the
// expressions yield, in their order. An expression that fails or yields null
// leaves its field as it is and holds up no other; where others have filled
// in more, it is asked again. So what the function returns, it returns as it
// is. It depends on its input and the namespace alone.
func Compile(d *v1alpha1.Defaults, namespaces Namespaces) (Function, error) {
	values, err := d.DecodeValues()
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	f := &filler{values: values, namespaces: namespaces}
	var errs []error
	for i := range d.Computed {
		c, err := compileComputed(&d.Computed[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("computed default %s: %w", d.Computed[i].Path, err))
			continue
		}
		f.computed = append(f.computed, c)
	}
	return f.fill, errors.Join(errs...)
}

// computed is a computed default.
type computed struct {
	path  string
	names []string
	value *expression.Default
}

func compileComputed(d *v1alpha1.ComputedDefault) (*computed, error) {
	c := &computed{path: d.Path}
	path, err := storage.ParsePath(d.Path)
	if err != nil {
		return nil, err
	}
	var ok bool
	if c.names, ok = path.Names(); !ok {
		return nil, errors.New("items of lists cannot be filled in")
	}
	if problem := unsettable(c.names); problem != "" {
		return nil, errors.New(problem)
	}
	c.value, err = expression.CompileDefault(d.Expression)
	return c, err
}

// unsettable tells why nothing can be filled in at a path; "": it can.
func unsettable(names []string) string {
	switch names[0] {
	case "apiVersion", "kind", "status":
		return names[0] + " cannot be filled in"
	case "metadata":
		if len(names) != 3 || names[1] != "labels" && names[1] != "annotations" {
			return "of metadata only a label or an annotation can be filled in"
		}
		if names[1] == "annotations" && storage.IsState(names[2]) {
			return "it is an annotation of Dogear"
		}
	}
	return ""
}

// absent tells whether the object has nothing at the path, and has no value on
// the way that holds no fields. A null counts as there: see [handler.FillAbsent].
func (c *computed) absent(object map[string]any) bool {
	for _, name := range c.names {
		value, ok := object[name]
		if !ok {
			return true
		}
		if object, ok = value.(map[string]any); !ok {
			return false
		}
	}
	return false
}

// at is an object that has just the value, at the path.
func (c *computed) at(value any) map[string]any {
	for i := len(c.names) - 1; i >= 0; i-- {
		value = map[string]any{c.names[i]: value}
	}
	return value.(map[string]any)
}

// check refuses what would have the API server refuse the user's request.
func (c *computed) check(value any) error {
	if c.names[0] != "metadata" || value == nil {
		return nil
	}
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("the value is no text: convert it with string()")
	}
	if c.names[1] == "labels" && len(validation.IsValidLabelValue(text)) > 0 {
		return errors.New("the value is no label value: it may have at most 63 letters, digits and -_. with a letter or digit at both ends")
	}
	return nil
}
