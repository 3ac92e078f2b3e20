package main

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// value is one of values.yaml.
type value struct {
	path    string // such as image.tag
	name    string // its last part
	section string // the section that begins with it
	text    string // what its comment says
	shape   shape  // what @schema says, in full
	initial any    // what it is by default
	parts   []*value
	mapping bool // its parts are all that it may have
}

// read reads values.yaml. What cannot be told about a value is an error.
func read(text string) (*value, error) {
	var file yaml.Node
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return nil, err
	}
	r := reader{lines: strings.Split(text, "\n")}
	root := &value{mapping: true}
	if len(file.Content) == 0 {
		return root, nil
	}
	return root, r.parts(root, file.Content[0])
}

type reader struct{ lines []string }

// parts reads the entries of a map into v.
func (r reader) parts(v *value, node *yaml.Node) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, content := node.Content[i], node.Content[i+1]
		part := &value{name: key.Value, path: strings.TrimPrefix(v.path+"."+key.Value, ".")}
		if err := r.read(part, key.Line, content); err != nil {
			return fmt.Errorf("line %d: %s: %w", key.Line, part.path, err)
		}
		v.parts = append(v.parts, part)
	}
	return nil
}

func (r reader) read(v *value, line int, node *yaml.Node) error {
	var directive string
	v.section, v.text, directive = r.comment(line)
	if err := node.Decode(&v.initial); err != nil {
		return err
	}
	said, err := parseShape(directive)
	if err != nil {
		return err
	}
	if v.mapping = node.Kind == yaml.MappingNode && said == nil; v.mapping {
		if len(node.Content) == 0 {
			return fmt.Errorf("an empty map: say behind @schema what it may have, such as map")
		}
		return r.parts(v, node)
	}
	if v.text == "" {
		return fmt.Errorf("no comment says what it is for")
	}
	v.shape, err = said.complete(node)
	return err
}

// comment reads the comment above a line: what it says, and what follows
// @schema. A line that begins a section stands before it, and a blank line
// between the two.
func (r reader) comment(line int) (section, text, directive string) {
	var words []string
	at := line - 2 // of the slice, the line above
	for ; at >= 0 && strings.HasPrefix(strings.TrimSpace(r.lines[at]), "#"); at-- {
		said := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(r.lines[at]), "#"))
		if schema, ok := strings.CutPrefix(said, "@schema "); ok {
			directive = schema
			continue
		}
		words = append([]string{said}, words...)
	}
	if at > 0 && strings.TrimSpace(r.lines[at]) == "" {
		section, _ = strings.CutPrefix(r.lines[at-1], "# ## ")
		if section == r.lines[at-1] {
			section = ""
		}
	}
	return section, strings.Join(words, " "), directive
}
