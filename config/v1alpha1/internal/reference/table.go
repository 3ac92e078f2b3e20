package main

import (
	"fmt"
	"go/ast"
	"strings"
)

// foreign are types of other packages, as readers of the page know them.
var foreign = map[string]string{
	"metav1.LabelSelector":        "[label selector](https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements)",
	"metav1.Condition":            "condition",
	"metav1.Time":                 "time",
	"metav1.GroupVersionResource": "`{group, version, resource}`",
	"metav1.GroupVersionKind":     "`{group, version, kind}`",
	"runtime.RawExtension":        "object",
	"intstr.IntOrString":          "integer or string",
	"json.RawMessage":             "any JSON",
}

var plain = map[string]string{"string": "string", "bool": "boolean", "int32": "integer", "int64": "integer"}

// reference returns a section for each of the roots, each followed by those of
// the types that it uses.
func (p pkg) reference(roots []string) (string, error) {
	var b strings.Builder
	if err := p.sections(&b, roots, map[string]bool{}); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

func (p pkg) sections(b *strings.Builder, names []string, seen map[string]bool) error {
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		t, ok := p[name]
		if !ok {
			return fmt.Errorf("there is no type %s", name)
		}
		used, err := p.section(b, t)
		if err != nil {
			return fmt.Errorf("type %s: %w", name, err)
		}
		if err := p.sections(b, used, seen); err != nil {
			return err
		}
	}
	return nil
}

// section writes a type, and returns the names of the types that it uses.
func (p pkg) section(b *strings.Builder, t *typeInfo) ([]string, error) {
	fmt.Fprintf(b, "### %s\n\n%s\n\n", t.name, t.doc)
	if t.isText {
		return nil, nil
	}
	b.WriteString("| field | type | |\n| --- | --- | --- |\n")
	used, err := p.rows(b, t)
	b.WriteString("\n")
	return used, err
}

func (p pkg) rows(b *strings.Builder, t *typeInfo) (used []string, err error) {
	for _, f := range t.fields {
		shown, own, err := p.show(f.expr)
		switch {
		case err != nil:
			return nil, fmt.Errorf("field %q: %w", f.name, err)
		case f.name == "" && own != "": // inlined
			more, err := p.rows(b, p[own])
			if err != nil {
				return nil, err
			}
			used = append(used, more...)
			continue
		case f.name == "" || f.name == "-":
			continue
		}
		name := "`" + f.name + "`"
		if f.required {
			name += " (required)"
		}
		doc := strings.Join(strings.Fields(f.doc), " ")
		if initial := strings.Trim(f.initial, "{}"); f.initial != "" && !strings.Contains(doc, "Default:") {
			doc += " Default: " + initial + "."
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", name, shown, cell(doc))
		if own != "" && len(p[own].enum) == 0 {
			used = append(used, own)
		}
	}
	return used, nil
}

// cell makes text fit for a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "*", `\*`).Replace(text)
}

// show returns how a type is shown, and the name of this package's type in it.
func (p pkg) show(expr ast.Expr) (shown, own string, err error) {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return p.show(e.X)
	case *ast.SelectorExpr:
		name := fmt.Sprint(e.X, ".", e.Sel)
		if shown, ok := foreign[name]; ok {
			return shown, "", nil
		}
		switch name {
		case "metav1.TypeMeta", "metav1.ObjectMeta", "metav1.ListMeta":
			return "[metadata](https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/)", "", nil
		case "time.Duration":
			return "string", "", nil
		}
		return "", "", fmt.Errorf("no words for type %s", name)
	case *ast.ArrayType:
		if fmt.Sprint(e.Elt) == "byte" {
			return "base64", "", nil
		}
		shown, own, err = p.show(e.Elt)
		return "list of " + shown, own, err
	case *ast.MapType:
		shown, own, err = p.show(e.Value)
		return "map of " + shown, own, err
	case *ast.Ident:
		if shown, ok := plain[e.Name]; ok {
			return shown, "", nil
		}
		t, ok := p[e.Name]
		switch {
		case !ok:
			return "", "", fmt.Errorf("no words for type %s", e.Name)
		case len(t.enum) > 0:
			return "`" + strings.Join(t.enum, "`, `") + "`", e.Name, nil
		}
		return fmt.Sprintf("[%s](#%s)", e.Name, strings.ToLower(e.Name)), e.Name, nil
	}
	return "", "", fmt.Errorf("no words for a %T", expr)
}
