package check

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/check/internal/schema"
)

//go:generate go run ./internal/schema/write ../../charts/dogear/files/crds schemas

// schemas are the fields of the CRDs that this program was built with.
//
//go:embed schemas/*.txt
var schemas embed.FS

var crdNames = []string{"clusterhandlersets.dogear.dev", "handlersets.dogear.dev"}

// applyCRDs names both charts that have the CRDs: the other one is of use where
// who installs Dogear may not make them.
const applyCRDs = "helm upgrade of the chart dogear, with crds.enabled=true; " +
	"or, if they are kept apart: helm upgrade --install dogear-crds oci://ghcr.io/dogear-dev/charts/dogear-crds"

func (r *round) crdChecks() []Check {
	return []Check{
		{Group: "CRDs", Name: "established", Link: "a-crd-is-missing", Run: r.crdsEstablished},
		{Group: "CRDs", Name: "stored versions", Link: "a-crd-stores-old-versions", Run: r.crdsStored},
		{Group: "CRDs", Name: "schema", Link: "a-crd-is-of-another-release", Run: r.crdsCurrent},
	}
}

func (r *round) crd(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if r.definitions == nil {
		r.definitions = map[string]*once[*apiextensionsv1.CustomResourceDefinition]{}
	}
	if r.definitions[name] == nil {
		r.definitions[name] = &once[*apiextensionsv1.CustomResourceDefinition]{}
	}
	return r.definitions[name].get(func() (*apiextensionsv1.CustomResourceDefinition, error) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		return crd, r.client.Get(ctx, client.ObjectKey{Name: name}, crd)
	})
}

func (r *round) crdsEstablished(ctx context.Context) Result {
	var wrong []string
	for _, name := range crdNames {
		crd, err := r.crd(ctx, name)
		switch {
		case apierrors.IsNotFound(err):
			wrong = append(wrong, name+" is missing")
		case err != nil:
			return r.unread(err)
		default:
			wrong = append(wrong, faultsOf(crd)...)
		}
	}
	if len(wrong) > 0 {
		return failed("%s", strings.Join(wrong, "; ")).hint("install the CRDs: %s", applyCRDs)
	}
	return passed("%s serve %s", strings.Join(crdNames, " and "), v1alpha1.GroupVersion.Version)
}

func faultsOf(crd *apiextensionsv1.CustomResourceDefinition) (faults []string) {
	version := v1alpha1.GroupVersion.Version
	if !slices.ContainsFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version && v.Served }) {
		faults = append(faults, fmt.Sprintf("%s does not serve %s", crd.Name, version))
	}
	established := false
	for _, c := range crd.Status.Conditions {
		switch {
		case c.Type == apiextensionsv1.Established:
			established = c.Status == apiextensionsv1.ConditionTrue
		case c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse:
			faults = append(faults, fmt.Sprintf("the names of %s are taken: %s", crd.Name, c.Message))
		}
	}
	if !established {
		faults = append(faults, crd.Name+" is not established")
	}
	if crd.DeletionTimestamp != nil {
		faults = append(faults, crd.Name+" is being deleted, and all sets with it")
	}
	return faults
}

func (r *round) crdsStored(ctx context.Context) Result {
	var old []string
	for _, name := range crdNames {
		crd, err := r.crd(ctx, name)
		if err != nil {
			return r.unread(err)
		}
		storage := ""
		for i := range crd.Spec.Versions {
			if crd.Spec.Versions[i].Storage {
				storage = crd.Spec.Versions[i].Name
			}
		}
		for _, version := range crd.Status.StoredVersions {
			if version != storage {
				old = append(old, fmt.Sprintf("%s may be stored in %s, and not only in %s", name, version, storage))
			}
		}
	}
	if len(old) > 0 {
		return warned("%s", strings.Join(old, "; ")).hint("dogear migrate: a later release may not read the old version any more")
	}
	return passed("all sets are stored in the current version")
}

// crdsCurrent compares the CRDs in the cluster with those of this program.
func (r *round) crdsCurrent(ctx context.Context) Result {
	version := v1alpha1.GroupVersion.Version
	var older, newer, changed []string
	for _, name := range crdNames {
		text, err := schemas.ReadFile("schemas/" + name + "_" + version + ".txt")
		if err != nil {
			return failed("%s", err)
		}
		own, err := schema.Parse(string(text))
		if err != nil {
			return failed("the schema that this program was built with: %s", err)
		}
		crd, err := r.crd(ctx, name)
		if err != nil {
			return r.unread(err)
		}
		theirs, err := schema.Of(crd, version)
		if err != nil {
			return failed("%s", err)
		}
		if theirs == nil {
			return skipped("%s has no schema for %s", name, version)
		}
		d := own.Compare(theirs)
		older, newer, changed = append(older, d.Missing...), append(newer, d.More...), append(changed, d.Changed...)
	}
	switch {
	case len(older) > 0:
		return warned("older than this program (%s): the API server drops %s from sets", r.options.Version, some(older)).hint("upgrade the CRDs: %s", applyCRDs)
	case len(newer) > 0:
		return warned("newer than this program (%s): it does not know %s", r.options.Version, some(newer)).
			hint("use the program of the release that is installed; if the controller is older too, upgrade it")
	case len(changed) > 0:
		return warned("not those of this program (%s): %s differ", r.options.Version, some(changed)).hint("upgrade the CRDs: %s", applyCRDs)
	}
	return passed("those of this program")
}

// some names the first few.
func some(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
