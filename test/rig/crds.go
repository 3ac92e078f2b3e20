package rig

import (
	"bytes"
	"context"
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
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
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

// InstallCRDs creates the CRDs, or updates those that exist, and waits until
// each is established and shown by discovery and OpenAPI v3, so that clients,
// mappers and kubectl know it. It waits at most 30 s for each.
func (cp *ControlPlane) InstallCRDs(ctx context.Context, crds ...*apiextensionsv1.CustomResourceDefinition) error {
	admin, err := cp.Client()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		current := &apiextensionsv1.CustomResourceDefinition{}
		current.Name = crd.Name
		_, err := controllerutil.CreateOrUpdate(ctx, admin, current, func() error {
			current.Labels, current.Annotations, current.Spec = crd.Labels, crd.Annotations, *crd.Spec.DeepCopy()
			return nil
		})
		if err != nil {
			return fmt.Errorf("install CRD %q: %w", crd.Name, err)
		}
	}
	for _, crd := range crds {
		if err := wait(ctx, func() error { return cp.shown(ctx, crd) }); err != nil {
			return fmt.Errorf("wait for CRD %q: %w", crd.Name, err)
		}
	}
	return nil
}

// shown tells whether all of the API server knows the CRD: its parts learn of
// it one after the other.
func (cp *ControlPlane) shown(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	admin, err := cp.Client()
	if err != nil {
		return err
	}
	current := &apiextensionsv1.CustomResourceDefinition{}
	current.Name = crd.Name
	if err := admin.Get(ctx, client.ObjectKeyFromObject(current), current); err != nil {
		return err
	}
	established := slices.ContainsFunc(current.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
	if !established {
		return fmt.Errorf("not established: %v", current.Status.Conditions)
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		path := "/apis/" + crd.Spec.Group + "/" + version.Name
		for _, path := range []string{path, "/openapi/v3" + path} {
			text, err := cp.get(ctx, path)
			if err != nil {
				return err
			}
			if !bytes.Contains(text, []byte(`"kind":"`+crd.Spec.Names.Kind+`"`)) {
				return fmt.Errorf("%s does not show kind %s", path, crd.Spec.Names.Kind)
			}
		}
	}
	return nil
}
