package uninstall

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/webhook"
)

// Uninstalled is the reason of the condition Ready of sets that have outlived the
// service.
const Uninstalled = "Uninstalled"

const farewellText = "Dogear was uninstalled, so the set does nothing: install Dogear again, which puts it in force, or delete the set"

// farewell says in the sets that stay that nothing puts them in force any more. What
// their status says else was found out by a controller that is gone. It is no
// failure where that cannot be written, as nothing waits for it.
func (r *run) farewell(ctx context.Context) error {
	if r.DryRun {
		return nil
	}
	left := r.leftResources()
	failed, why := 0, ""
	for _, set := range r.sets {
		if !set.claims {
			continue
		}
		switch err := r.bidFarewell(ctx, set, left[set.resource.String()]); {
		case err == nil, apierrors.IsNotFound(err):
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			failed, why = failed+1, installation.Reason(err)
		}
	}
	if failed > 0 {
		r.note("The status of %d %s still says what it was before, as it cannot be written: %s", failed, plural(failed, "set", "sets"), why)
	}
	return nil
}

// bidFarewell writes the status of one set. While objects are left, it goes on to
// say which handlers have been on them.
func (r *run) bidFarewell(ctx context.Context, set foundSet, left bool) error {
	ready := []metav1.Condition{{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: Uninstalled, Message: farewellText,
		ObservedGeneration: set.generation, LastTransitionTime: metav1.NewTime(time.Now()).Rfc3339Copy(),
	}}
	edit := map[string]any{"op": "replace", "path": "/status", "value": map[string]any{"observedGeneration": set.generation, "conditions": ready}}
	if left {
		edit = map[string]any{"op": "add", "path": "/status/conditions", "value": ready}
	}
	body, err := json.Marshal([]any{operation{"test", "/metadata/uid", string(set.uid)}, edit})
	if err != nil {
		return fmt.Errorf("encode the patch: %w", err)
	}
	_, err = installation.Retried(ctx, func() (*metav1.PartialObjectMetadata, error) {
		return r.Metadata.Resource(set.gvr).Namespace(set.namespace).
			Patch(ctx, set.name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: webhook.FieldManager}, "status")
	})
	return err
}
