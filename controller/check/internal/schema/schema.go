// Package schema makes the schemas of CRDs comparable, in a text that is short
// enough to be part of a program.
package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Fields are the fields of a schema by their path, each with a digest of what
// the schema says of it, texts for people left out.
type Fields map[string]string

// Of returns the fields of a version of a CRD; nil: it has no such version, or
// that has no schema.
func Of(crd *apiextensionsv1.CustomResourceDefinition, version string) (Fields, error) {
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Name == version && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			fields := Fields{}
			return fields, fields.add("", v.Schema.OpenAPIV3Schema)
		}
	}
	return nil, nil
}

func (f Fields) add(path string, node *apiextensionsv1.JSONSchemaProps) error {
	own := node.DeepCopy()
	own.Description, own.Properties, own.Items, own.AdditionalProperties = "", nil, nil, nil
	text, err := canonical(own)
	if err != nil {
		return fmt.Errorf("schema of %q: %w", path, err)
	}
	digest := sha256.Sum256(text)
	f[path] = hex.EncodeToString(digest[:4])
	for name := range node.Properties {
		child := node.Properties[name]
		if err := f.add(strings.TrimPrefix(path+"."+name, "."), &child); err != nil {
			return err
		}
	}
	if node.Items != nil && node.Items.Schema != nil {
		if err := f.add(path+"[]", node.Items.Schema); err != nil {
			return err
		}
	}
	if a := node.AdditionalProperties; a != nil && a.Schema != nil {
		return f.add(path+"{}", a.Schema)
	}
	return nil
}

// canonical has the members of all objects in order, those of raw JSON too.
func canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var plain any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}

// Difference is what two schemas differ in, as paths in order.
type Difference struct {
	Missing []string // in the other
	More    []string // only in the other
	Changed []string
}

// Compare tells what another schema has otherwise.
func (f Fields) Compare(other Fields) (d Difference) {
	for path, digest := range f {
		switch theirs, ok := other[path]; {
		case !ok:
			d.Missing = append(d.Missing, path)
		case theirs != digest:
			d.Changed = append(d.Changed, path)
		}
	}
	for path := range other {
		if _, ok := f[path]; !ok {
			d.More = append(d.More, path)
		}
	}
	for _, paths := range [][]string{d.Missing, d.More, d.Changed} {
		slices.Sort(paths)
	}
	return d
}

// Format writes fields as lines of a path and a digest.
func (f Fields) Format() string {
	var out strings.Builder
	for _, path := range slices.Sorted(maps.Keys(f)) {
		fmt.Fprintf(&out, "%q %s\n", path, f[path])
	}
	return out.String()
}

// Parse reads what Format has written.
func Parse(text string) (Fields, error) {
	f := Fields{}
	for line := range strings.Lines(text) {
		var path, digest string
		if _, err := fmt.Sscanf(line, "%q %s\n", &path, &digest); err != nil {
			return nil, fmt.Errorf("line %q: %w", line, err)
		}
		f[path] = digest
	}
	return f, nil
}
