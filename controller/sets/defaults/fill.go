package defaults

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/sets/expression"
	"github.com/dogear-dev/dogear/storage"
)

// ErrNoRoom is in the chain of the error of defaults whose annotations do not
// fit under the API server's limit beside those of the object.
var ErrNoRoom = errors.New("the annotations leave no room for those of the defaults")

// filler is what a set declares, ready for use.
type filler struct {
	values     map[string]any
	computed   []*computed
	namespaces Namespaces
}

// pass is the filling of one object.
type pass struct {
	*filler
	object    *unstructured.Unstructured
	request   expression.Request
	namespace func() (map[string]any, error)
}

func (f *filler) fill(u *unstructured.Unstructured, a handler.Admission) (*unstructured.Unstructured, error) {
	p := &pass{filler: f, object: u.DeepCopy(), request: requestOf(a), namespace: f.namespaceOf(u)}
	if p.object.Object == nil {
		p.object.Object = map[string]any{}
	}
	handler.FillAbsent(p.object.Object, f.values)
	err := p.compute()
	if before := u.GetAnnotations(); storage.Size(p.object.GetAnnotations()) > max(storage.ServerLimit, storage.Size(before)) {
		p.object.SetAnnotations(before)
		err = errors.Join(err, ErrNoRoom)
	}
	return p.object, err
}

// compute asks the expressions, until none has more to fill in. Each round
// fills at least one field, or is the last.
func (p *pass) compute() error {
	for {
		var errs []error
		filled := false
		for _, c := range p.filler.computed {
			if !c.absent(p.object.Object) {
				continue
			}
			value, err := p.value(c)
			if err != nil {
				errs = append(errs, fmt.Errorf("computed default %s: %w", c.path, err))
				continue
			}
			if value != nil {
				handler.FillAbsent(p.object.Object, c.at(value))
				filled = filled || !c.absent(p.object.Object)
			}
		}
		if !filled {
			return errors.Join(errs...)
		}
	}
}

func (p *pass) value(c *computed) (value any, err error) {
	var namespace map[string]any
	if c.value.UsesNamespace() {
		if namespace, err = p.namespace(); err != nil {
			return nil, err
		}
	}
	if value, err = c.value.Value(p.object.Object, p.request, namespace); err != nil {
		return nil, err
	}
	return value, c.check(value)
}

// namespaceOf looks the object's namespace up, at the first call.
func (f *filler) namespaceOf(u *unstructured.Unstructured) func() (map[string]any, error) {
	var (
		asked     bool
		namespace map[string]any
		err       error
	)
	return func() (map[string]any, error) {
		name := u.GetNamespace()
		if asked || name == "" || f.namespaces == nil {
			return namespace, err
		}
		asked = true
		if namespace, err = f.namespaces(name); err != nil {
			err = fmt.Errorf("read the namespace: %w", err)
		}
		return namespace, err
	}
}

func requestOf(a handler.Admission) expression.Request {
	r := expression.Request{Operation: "CREATE", Username: a.User, UID: a.UserUID, Groups: a.Groups, Extra: a.Extra}
	if a.Operation == handler.Update {
		r.Operation = "UPDATE"
	}
	return r
}
