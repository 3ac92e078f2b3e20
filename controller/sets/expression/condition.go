package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// Condition is a compiled condition. Goroutines may share it.
type Condition struct{ program *program }

// CompileCondition compiles an expression that sees object, without status and
// without metadata other than name, namespace, labels and annotations, and
// yields a bool. Its error is that of [Check].
func CompileCondition(text string) (*Condition, error) {
	p, err := compile(v1alpha1.ExpressionCondition, text)
	if err != nil {
		return nil, err
	}
	return &Condition{p}, nil
}

// Holds tells whether the condition holds for the object, which it does not
// change. It fails where the expression does, as by a field that is not there,
// and where its value is no bool; the error has no data of the object in it.
func (c *Condition) Holds(u *unstructured.Unstructured) (bool, error) {
	out, _, err := c.program.Eval(variable{forCondition(u.Object)})
	if err != nil {
		return false, c.program.fault(err)
	}
	holds, ok := out.(types.Bool)
	if !ok {
		return false, c.program.at(c.program.ast.Expr().ID(), "it yields a value of type %s: want a bool", out.Type().TypeName())
	}
	return bool(holds), nil
}

// variable is what a condition sees.
type variable struct{ object map[string]any }

func (v variable) ResolveName(name string) (any, bool) {
	if name == object {
		return v.object, true
	}
	return nil, false
}

func (variable) Parent() cel.Activation { return nil }
