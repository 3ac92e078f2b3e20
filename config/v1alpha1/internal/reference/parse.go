package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

// pkg has the types of a package by name.
type pkg map[string]*typeInfo

type typeInfo struct {
	name   string
	doc    string
	enum   []string
	fields []field
	isText bool // no struct
}

type field struct {
	name, doc string
	expr      ast.Expr
	required  bool
	initial   string // the default of the schema
}

func parsePackage(dir string) (pkg, error) {
	p := pkg{}
	files, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "zz_generated") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, declaration := range file.Decls {
			if general, ok := declaration.(*ast.GenDecl); ok && general.Tok == token.TYPE {
				if err := p.add(general); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return p, nil
}

// add notes the types of a declaration: those that are exported, and no
// interfaces or functions.
func (p pkg) add(declaration *ast.GenDecl) error {
	for _, spec := range declaration.Specs {
		spec := spec.(*ast.TypeSpec)
		if !spec.Name.IsExported() {
			continue
		}
		group := spec.Doc
		if group == nil {
			group = declaration.Doc
		}
		doc, markers := split(group)
		t := &typeInfo{name: spec.Name.Name, doc: doc}
		if values, ok := markers["kubebuilder:validation:Enum"]; ok {
			t.enum = strings.Split(values, ";")
		}
		switch body := spec.Type.(type) {
		case *ast.StructType:
			if err := t.addFields(body); err != nil {
				return fmt.Errorf("type %s: %w", t.name, err)
			}
			t.isText = markers["kubebuilder:validation:Type"] == "string"
		case *ast.Ident:
			t.isText = true
		default:
			continue
		}
		p[t.name] = t
	}
	return nil
}

func (t *typeInfo) addFields(body *ast.StructType) error {
	for _, f := range body.Fields.List {
		name := ""
		if f.Tag != nil {
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				return err
			}
			name, _, _ = strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		}
		doc, markers := split(f.Doc)
		_, required := markers["required"]
		inline := name == ""
		if !inline && doc == "" && name != "-" && !strings.HasSuffix(t.name, "List") {
			return fmt.Errorf("field %q has no comment", name)
		}
		t.fields = append(t.fields, field{
			name: name, doc: doc, expr: f.Type, required: required, initial: markers["kubebuilder:default"],
		})
	}
	return nil
}

// split parts a comment into its text and its markers.
func split(group *ast.CommentGroup) (string, map[string]string) {
	markers := map[string]string{}
	var text []string
	for line := range strings.SplitSeq(group.Text(), "\n") {
		if marker, ok := strings.CutPrefix(strings.TrimSpace(line), "+"); ok {
			name, value, _ := strings.Cut(marker, "=")
			markers[name] = value
			continue
		}
		text = append(text, line)
	}
	return strings.TrimSpace(strings.Join(text, "\n")), markers
}
