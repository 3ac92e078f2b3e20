package expression

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// Request is what defaults see of the request.
type Request struct {
	// Operation is CREATE or UPDATE.
	Operation string
	// Username, UID, Groups and Extra are the userInfo of the request's user.
	Username, UID string
	Groups        []string
	Extra         map[string][]string
}

// Default is a compiled expression of a computed default. Goroutines may share
// it.
type Default struct {
	program *program
	names   map[string]bool
}

// CompileDefault compiles an expression that sees object, request and
// namespaceObject, and yields a JSON value. Its error is that of [Check].
func CompileDefault(text string) (*Default, error) {
	p, err := compile(v1alpha1.ExpressionDefault, text)
	if err != nil {
		return nil, err
	}
	d := &Default{program: p, names: map[string]bool{}}
	for _, e := range ast.MatchDescendants(ast.NavigateAST(p.ast), ast.KindMatcher(ast.IdentKind)) {
		d.names[e.AsIdent()] = true
	}
	return d, nil
}

// UsesNamespace tells whether the expression looks at namespaceObject.
func (d *Default) UsesNamespace() bool { return d.names[namespaceObject] }

// IsConstant tells whether the expression looks at nothing, and so always
// yields the same.
func (d *Default) IsConstant() bool {
	return !d.names[object] && !d.names[request] && !d.names[namespaceObject]
}

// Type is the type of what the expression yields, as far as it is known
// without an object.
func (d *Default) Type() *cel.Type { return d.program.ast.GetType(d.program.ast.Expr().ID()) }

// Value evaluates the expression; namespace is nil where there is none. The
// value is plain JSON as unstructured objects have it, and shares nothing with
// the object: whole numbers are int64, durations texts such as "1h30m0s",
// timestamps RFC 3339, bytes base64; null and an optional without value are
// nil. It fails where the expression does, and where its value is too large or
// no JSON; the error has no data of the object in it.
func (d *Default) Value(object map[string]any, request Request, namespace map[string]any) (any, error) {
	v := &variables{object: forDefault(object), request: request}
	if namespace != nil {
		v.namespace = forDefault(namespace)
	}
	out, _, err := d.program.Eval(v)
	if err != nil {
		return nil, d.program.fault(err)
	}
	plain, err := plain(out)
	if err != nil {
		return nil, d.program.at(d.program.ast.Expr().ID(), "%s", err)
	}
	return plain, nil
}

// variables are what a default sees.
type variables struct {
	object    map[string]any
	request   Request
	namespace any
}

func (v *variables) ResolveName(name string) (any, bool) {
	switch name {
	case object:
		return v.object, true
	case request:
		return v.request.fields(), true
	case namespaceObject:
		return v.namespace, true
	}
	return nil, false
}

func (*variables) Parent() cel.Activation { return nil }

func (r Request) fields() map[string]any {
	groups, extra := r.Groups, r.Extra
	if groups == nil {
		groups = []string{}
	}
	if extra == nil {
		extra = map[string][]string{}
	}
	return map[string]any{
		"operation": r.Operation,
		"userInfo":  map[string]any{"username": r.Username, "uid": r.UID, "groups": groups, "extra": extra},
	}
}
