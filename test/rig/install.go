package rig

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// InstallCRDs creates the CRDs, or updates those that exist, and waits until
// each is established and shown by discovery and OpenAPI v3, so that clients,
// mappers and kubectl know it. It waits at most 30 s for each. The change of one
// that existed may take effect some milliseconds later; and the API server holds
// back the first objects of a new one: a create in its first 2 s takes 2 s.
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
