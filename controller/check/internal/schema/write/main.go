// Command write writes the fields of the CRDs in a folder, each version of each
// to a file of its own: write <folder of CRDs> <folder to write to>.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/controller/check/internal/schema"
)

func main() {
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "write:", err)
		os.Exit(1)
	}
}

func write(from, to string) error {
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the caller names it
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for i := range crd.Spec.Versions {
			version := crd.Spec.Versions[i].Name
			fields, err := schema.Of(crd, version)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if err := os.WriteFile(filepath.Join(to, crd.Name+"_"+version+".txt"), []byte(fields.Format()), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
