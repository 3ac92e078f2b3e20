package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/webhook"
)

const (
	// maxLooks is how often all objects are gone through, until a look finds
	// nothing any more that is stored anew.
	maxLooks = 4
	// sayEvery is the time between two reports on one CRD.
	sayEvery = time.Second
)

var errChanging = errors.New("it keeps changing")

// rewriteAll has the API server store all objects anew. A second look proves the
// first: an object that is stored as it should be is not changed by it.
func (r *run) rewriteAll(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, result *CRD) error {
	gvr := schema.GroupVersionResource{Group: crd.Spec.Group, Version: result.Version, Resource: crd.Spec.Names.Plural}
	for look := 1; look <= maxLooks; look++ {
		before := result.Rewritten
		result.Objects, result.Left = 0, nil
		if err := r.look(ctx, gvr, result); err != nil {
			return fmt.Errorf("rewrite the objects of %s: %w", crd.Name, err)
		}
		if result.Rewritten == before || len(result.Left) > 0 {
			return nil
		}
	}
	return fmt.Errorf("rewrite the objects of %s: they change all the time: run this again when that is over", crd.Name)
}

// look goes once through all objects, page by page.
func (r *run) look(ctx context.Context, gvr schema.GroupVersionResource, result *CRD) error {
	said := time.Now()
	return installation.Pages(ctx, r.Metadata.Resource(gvr).List, func(page *metav1.PartialObjectMetadataList, anew bool) (bool, error) {
		if anew {
			result.Objects, result.Left = 0, nil
		}
		for i := range page.Items {
			m := &page.Items[i]
			result.Objects++
			changed, err := rewrite(ctx, r.Metadata.Resource(gvr).Namespace(m.Namespace), m)
			switch {
			case ctx.Err() != nil:
				return false, ctx.Err()
			case errors.Is(err, errChanging):
				result.Left = append(result.Left, Left{m.Namespace, m.Name, err.Error()})
			case err != nil:
				result.Left = append(result.Left, Left{m.Namespace, m.Name, installation.Reason(err)})
			case changed:
				result.Rewritten++
			}
			if time.Since(said) >= sayEvery {
				said = time.Now()
				r.say("%s: %d objects looked at, %d rewritten", result.Name, result.Objects, result.Rewritten)
			}
		}
		return true, nil
	})
}

// rewrite has the API server store an object anew, and tells whether that has
// changed what is stored. The patch changes nothing by itself.
func rewrite(ctx context.Context, api metadata.ResourceInterface, m *metav1.PartialObjectMetadata) (changed bool, err error) {
	for range installation.MaxTries {
		body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": m.UID, "resourceVersion": m.ResourceVersion}})
		if err != nil {
			return false, fmt.Errorf("encode the patch: %w", err)
		}
		stored, err := installation.Retried(ctx, func() (*metav1.PartialObjectMetadata, error) {
			return api.Patch(ctx, m.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: webhook.FieldManager})
		})
		switch {
		case err == nil:
			return stored.ResourceVersion != m.ResourceVersion, nil
		case apierrors.IsNotFound(err):
			return false, nil
		case !apierrors.IsConflict(err):
			return false, err
		}
		fresh, err := installation.Retried(ctx, func() (*metav1.PartialObjectMetadata, error) {
			return api.Get(ctx, m.Name, metav1.GetOptions{})
		})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		m = fresh
	}
	return false, errChanging
}
