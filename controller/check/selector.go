package check

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/storage"
)

// selector tells which objects a set selects, of those that are sent to the
// webhook.
type selector struct {
	*sets.Selection
	match v1alpha1.Match // as it was declared, to make an object that is selected
	// within tells whether a namespace is selected, and sent to the webhook.
	within func(namespace string) bool
	sent   labels.Selector // of namespaces whose objects are sent to the webhook
	places []string        // namespaces that are selected
	// marked is an annotation that only selected objects have, where nothing
	// else is known of the selection.
	marked string
}

// selectors are those of the sets of a resource that are in force and have
// handlers: defaults alone leave no stamp.
func (r *round) selectors(ctx context.Context, h *hook, res *resource) (all []*selector, err error) {
	namespaces, err := r.namespaces(ctx)
	if err != nil {
		return nil, err
	}
	sent, err := r.sent(h, res)
	if err != nil {
		return nil, err
	}
	if r.options.Domain != "" {
		s, err := newSelector(&v1alpha1.ClusterHandlerSet{}, namespaces, sent)
		if err == nil {
			s.marked = r.prefix.Key(storage.KeyState)
		}
		return []*selector{s}, err
	}
	for _, set := range res.active() {
		if len(set.Declared().Handlers) == 0 {
			continue
		}
		s, err := newSelector(set, namespaces, sent)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(set), err)
		}
		all = append(all, s)
	}
	return all, nil
}

// namespaces are all of them, with their labels.
func (r *round) namespaces(ctx context.Context) (map[string]labels.Set, error) {
	return r.spaces.get(func() (map[string]labels.Set, error) {
		all := map[string]labels.Set{}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NamespaceList"))
		err := r.pages(ctx, list, func() bool {
			for i := range list.Items {
				all[list.Items[i].Name] = list.Items[i].Labels
			}
			return true
		})
		return all, err
	})
}

// sent is the selector of the namespaces whose objects are sent to the webhook.
func (r *round) sent(h *hook, res *resource) (labels.Selector, error) {
	for i := range h.mutating.Webhooks {
		w := &h.mutating.Webhooks[i]
		for _, rule := range w.Rules {
			if slices.Contains(rule.APIGroups, res.name.Group) && slices.Contains(rule.Resources, res.name.Resource) {
				return metav1.LabelSelectorAsSelector(w.NamespaceSelector)
			}
		}
	}
	return nil, fmt.Errorf("it is not sent to the webhook")
}

func newSelector(set v1alpha1.AnySet, namespaces map[string]labels.Set, sent labels.Selector) (*selector, error) {
	selection, err := sets.SelectionOf(set)
	if err != nil {
		return nil, err
	}
	s := &selector{Selection: selection, sent: sent}
	if match := set.Declared().Match; match != nil {
		s.match = *match
	}
	s.within = func(namespace string) bool {
		have, known := namespaces[namespace]
		return known && selection.Within(namespace, have) && sent.Matches(have)
	}
	for name := range namespaces {
		if s.within(name) {
			s.places = append(s.places, name)
		}
	}
	slices.Sort(s.places)
	return s, nil
}

// selects tells whether the handlers of the set select an object, and whether
// it is sent to the webhook.
func (s *selector) selects(o *unstructured.Unstructured) bool {
	if namespace := o.GetNamespace(); namespace != "" && !s.within(namespace) {
		return false
	}
	if k := o.GroupVersionKind(); k.Group == "" && k.Kind == "Namespace" {
		own := labels.Set{corev1.LabelMetadataName: o.GetName()}
		if !s.sent.Matches(labels.Merge(o.GetLabels(), own)) {
			return false
		}
	}
	return s.Selects(o)
}
