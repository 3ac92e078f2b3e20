package expression

import (
	"slices"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"

	"github.com/dogear-dev/dogear/storage"
)

// seenMetadata is what conditions see of metadata: what of it changes is
// changed by people.
var seenMetadata = []string{"name", "namespace", "labels", "annotations"}

// forCondition is the object as conditions see it: the same at admission and
// ever after, whatever Dogear and others write to status and metadata. It
// shares all that it can with the object.
func forCondition(object map[string]any) map[string]any {
	seen := make(map[string]any, len(object))
	for key, value := range object {
		if key != "status" && key != "metadata" {
			seen[key] = value
		}
	}
	metadata, _ := object["metadata"].(map[string]any)
	shown := make(map[string]any, len(seenMetadata))
	for _, key := range seenMetadata {
		if value, ok := metadata[key]; ok {
			shown[key] = value
		}
	}
	hideState(shown)
	seen["metadata"] = shown
	return seen
}

// forDefault is the object as defaults see it: whole, less what is the
// server's or Dogear's book-keeping.
func forDefault(object map[string]any) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return object
	}
	shown := make(map[string]any, len(metadata))
	for key, value := range metadata {
		if key != "managedFields" && key != "resourceVersion" {
			shown[key] = value
		}
	}
	hideState(shown)
	seen := make(map[string]any, len(object))
	for key, value := range object {
		seen[key] = value
	}
	seen["metadata"] = shown
	return seen
}

// hideState takes Dogear's annotations out of metadata, and annotations
// themselves if no other is left: as if Dogear had never been there.
func hideState(metadata map[string]any) {
	annotations, _ := metadata["annotations"].(map[string]any)
	hidden := 0
	for key := range annotations {
		if storage.IsState(key) {
			hidden++
		}
	}
	switch hidden {
	case 0:
		return
	case len(annotations):
		delete(metadata, "annotations")
		return
	}
	shown := make(map[string]any, len(annotations)-hidden)
	for key, value := range annotations {
		if !storage.IsState(key) {
			shown[key] = value
		}
	}
	metadata["annotations"] = shown
}

// checkSeen refuses a condition that asks for a field which it never sees: it
// would never hold, or always.
func (p *program) checkSeen(root ast.NavigableExpr) error {
	for _, e := range ast.MatchDescendants(root, func(ast.NavigableExpr) bool { return true }) {
		of, name, ok := member(e)
		if !ok {
			continue
		}
		if isObject(of) && name == "status" {
			return p.at(of.ID(), "conditions cannot see object.status: what is selected must not change by itself")
		}
		parent, inner, ok := member(of)
		if ok && isObject(parent) && inner == "metadata" && !slices.Contains(seenMetadata, name) {
			return p.at(parent.ID(), "conditions cannot see object.metadata.%s: of metadata they see name, namespace, labels and annotations", name)
		}
	}
	return nil
}

func isObject(e ast.Expr) bool { return e.Kind() == ast.IdentKind && e.AsIdent() == object }

// member reads an expression such as a.b, a['b'] or a.?b.
func member(e ast.Expr) (of ast.Expr, name string, ok bool) {
	switch e.Kind() {
	case ast.SelectKind:
		return e.AsSelect().Operand(), e.AsSelect().FieldName(), true
	case ast.CallKind:
		call := e.AsCall()
		index := call.FunctionName() == operators.Index || call.FunctionName() == operators.OptIndex || call.FunctionName() == operators.OptSelect
		if !index || len(call.Args()) != 2 || call.Args()[1].Kind() != ast.LiteralKind {
			return nil, "", false
		}
		name, ok = call.Args()[1].AsLiteral().Value().(string)
		return call.Args()[0], name, ok
	}
	return nil, "", false
}
