package remote

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
)

// CallbackSource makes the address to which an outcome may be sent later; nil:
// none is offered this time. uid is that of the request.
type CallbackSource func(ctx context.Context, request *handler.RawRequest, uid string) (*v1alpha1.HandlerReviewCallback, error)

// review is the body of a request; offered tells whether a callback is in it.
func (h *Handler) review(ctx context.Context, request *handler.RawRequest, uid string) (body []byte, offered bool, err error) {
	e := &h.endpoint
	gvk := request.Object.GroupVersionKind()
	r := &v1alpha1.HandlerReviewRequest{
		UID:         uid,
		Handler:     v1alpha1.HandlerReviewHandler{Set: e.Set, Namespace: e.SetNamespace, ID: e.ID},
		Resource:    metav1.GroupVersionResource{Group: e.Resource.Group, Version: e.Resource.Version, Resource: e.Resource.Resource},
		Kind:        metav1.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind},
		Cause:       v1alpha1.Cause(request.Cause.String()),
		Known:       request.Old != nil,
		Attempt:     int32(request.Attempt),
		LastAttempt: request.LastAttempt,
		Started:     metav1.NewTime(request.Started),

		IdempotencyID: request.IdempotencyID,
		Fence:         request.Fence,
		By:            request.By,
		Payloads:      request.Payloads,
	}
	if !request.Deadline.IsZero() {
		deadline := metav1.NewTime(request.Deadline)
		r.Deadline = &deadline
	}
	if err := h.addObjects(r, request); err != nil {
		return nil, false, err
	}
	if e.Callback != nil {
		if r.Callback, err = e.Callback(ctx, request, uid); err != nil {
			return nil, false, fmt.Errorf("callback: %w", err)
		}
	}
	if r.Callback != nil {
		r.Capabilities = []string{v1alpha1.CapabilityCallback}
	}
	review := v1alpha1.HandlerReview{Request: r}
	review.APIVersion, review.Kind = v1alpha1.GroupVersion.String(), v1alpha1.HandlerReviewKind
	body, err = json.Marshal(review)
	return body, r.Callback != nil, err
}

// addObjects adds what the endpoint may see of the object, and of what it was.
func (h *Handler) addObjects(r *v1alpha1.HandlerReviewRequest, request *handler.RawRequest) (err error) {
	hide := !h.endpoint.IncludeSecretData && isSecret(request.Object)
	show := func(u *unstructured.Unstructured) (json.RawMessage, error) {
		object := withoutOwn(u.Object)
		if hide {
			object = withoutData(object)
		}
		return json.Marshal(project(object, h.projection))
	}
	if r.Object, err = show(request.Object); err != nil {
		return fmt.Errorf("encode the object: %w", err)
	}
	if request.Old == nil {
		return nil
	}
	if r.Old, err = show(request.Old); err != nil {
		return fmt.Errorf("encode the old object: %w", err)
	}
	for _, change := range request.Changes {
		names := namesOf(change.Path)
		if !projects(h.projection, names) {
			continue
		}
		if hide {
			change = hideChange(change, names)
		}
		c := v1alpha1.HandlerReviewChange{Path: change.Path}
		if c.Old, err = encode(change.Old); err == nil {
			c.New, err = encode(change.New)
		}
		if err != nil {
			return fmt.Errorf("encode the change of %s: %w", change.Path, err)
		}
		r.Changes = append(r.Changes, c)
	}
	return nil
}

// encode is v as JSON; nil is absent.
func encode(v any) (json.RawMessage, error) {
	if v == nil {
		return nil, nil
	}
	return json.Marshal(v)
}
