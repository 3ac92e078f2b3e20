package rig

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

//go:embed crds/*.yaml
var testCRDs embed.FS

// TestCRDs returns the test's own kinds of the group test.dogear.dev/v1, all
// or those named:
//
//	Widget       status keeps unknown fields; spec.parts is a list
//	Strict       status has conditions and observedGeneration, no more
//	Nested       only status.dogear keeps unknown fields
//	Phased       status.myapp.phase (a printer column) and conditions
//	Enumed       status.result is "Good" or "Bad", no more
//	Bare         no status subresource; status keeps unknown fields
//	ClusterWide  cluster scope; status.phase, no more
//	Frozen       spec cannot be changed; status keeps unknown fields
//
// Unless said, each has the status subresource, spec.size (integer) and
// spec.text. An unknown kind is an error.
func TestCRDs(kinds ...string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := loadCRDs(testCRDs)
	if err != nil || len(kinds) == 0 {
		return all, err
	}
	picked := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(kinds))
	for _, kind := range kinds {
		at := slices.IndexFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
			return crd.Spec.Names.Kind == kind
		})
		if at < 0 {
			return nil, fmt.Errorf("find the test CRD of kind %q: there is none", kind)
		}
		picked = append(picked, all[at])
	}
	return picked, nil
}

// CertManagerCRDs returns the CRDs of cert-manager, which `make controlplane`
// copies out of its Go module. Missing ones are ErrNoAssets.
func CertManagerCRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	assets, err := AssetsDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(assets, "crds", "cert-manager")
	crds, err := LoadCRDs(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: no folder %q: run 'make controlplane'", ErrNoAssets, dir)
	}
	return crds, err
}

// DogearCRDs returns the CRDs of the service, as the chart has them.
func DogearCRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	root, err := RepositoryRoot()
	if err != nil {
		return nil, err
	}
	return LoadCRDs(filepath.Join(root, "charts", "dogear", "files", "crds"))
}

// LoadCRDs reads all CRDs of the .yaml files in dir and below it.
func LoadCRDs(dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := loadCRDs(os.DirFS(dir))
	if err != nil {
		return nil, fmt.Errorf("load CRDs of %q: %w", dir, err)
	}
	return crds, nil
}

func loadCRDs(files fs.FS) (crds []*apiextensionsv1.CustomResourceDefinition, err error) {
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := documents.Decode(crd); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			if crd.Kind == "CustomResourceDefinition" {
				crds = append(crds, crd)
			}
		}
	})
	return crds, err
}
