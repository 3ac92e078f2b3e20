package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/storage"
)

const (
	// lookedAt is how many objects of a resource are looked at for one to copy,
	// and atOnce how many of them are read at a time: they are read whole.
	lookedAt = 100
	atOnce   = 20
)

// samples are objects of a resource that handlers select, as new ones would be:
// those that the person who asks names, else copies of others, else one that is
// made of what the schema asks for. Without any, why says so.
func (r *round) samples(ctx context.Context, h *hook, res *resource) (found []sample, why string) {
	if res.err != nil {
		return nil, res.err.Error()
	}
	all, err := r.selectors(ctx, h, res)
	if err != nil {
		return nil, err.Error()
	}
	if len(all) == 0 {
		return nil, "no set with handlers is in force"
	}
	if found, why = r.given(all, res); len(found) > 0 || why != "" {
		return found, why
	}
	why = "no object of it is selected by a set"
	for _, s := range all {
		copies, err := r.copies(ctx, s, res)
		if err != nil {
			why = err.Error()
		}
		if found = append(found, copies...); len(found) >= tries {
			return found, ""
		}
	}
	if len(found) > 0 {
		return found, ""
	}
	d, err := r.schemas.Of(ctx, res.kind)
	if err != nil || d == nil || d.Root == nil {
		return nil, why
	}
	for _, s := range all {
		if o := s.minimal(d, res); o != nil && s.marked == "" && s.selects(o) {
			return []sample{{o, "an object with what its schema asks for"}}, ""
		}
	}
	return nil, why
}

// given are the objects of a resource that the person who asks names. Where there
// are some, and none of them is selected, why says so.
func (r *round) given(all []*selector, res *resource) (found []sample, why string) {
	for _, o := range r.options.Objects {
		if o.GroupVersionKind().GroupKind() != res.kind.GroupKind() {
			continue
		}
		given := newborn(o)
		if res.namespaced && given.GetNamespace() == "" {
			given.SetNamespace(metav1.NamespaceDefault)
		}
		if slices.ContainsFunc(all, func(s *selector) bool { return s.selects(given) }) {
			found = append(found, sample{given, "the object that was given"})
		} else {
			why = "no set selects the object that was given, or what is in its namespace is not sent to the webhook"
		}
	}
	if len(found) > 0 {
		return found, ""
	}
	return nil, why
}

// unused names the objects that were given and are of no resource that is
// declared: nothing is found out with them.
func (r *round) unused(declared []*resource) (names []string) {
	for _, o := range r.options.Objects {
		kind := o.GroupVersionKind().GroupKind()
		if !slices.ContainsFunc(declared, func(res *resource) bool {
			// Of a resource that is not served, the kind is not known.
			return res.kind.GroupKind() == kind || res.err != nil && res.name.Group == kind.Group
		}) {
			names = append(names, fmt.Sprintf("%s %s, which was given: nothing declares a resource of this kind", nameOfKind(o.GroupVersionKind()), keyOf(o)))
		}
	}
	return names
}

// copies are like objects that a set selects.
func (r *round) copies(ctx context.Context, s *selector, res *resource) (found []sample, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(res.kind)
	n := 0
	err = r.pages(ctx, list, func() bool {
		for i := range list.Items {
			o := &list.Items[i]
			if o.GetDeletionTimestamp() != nil || sizeOf(o.GetAnnotations()) > roomy || s.marked != "" && o.GetAnnotations()[s.marked] == "" {
				continue
			}
			if born := newborn(o); s.selects(born) {
				found = append(found, sample{born, "a copy of " + keyOf(o)})
			}
		}
		n += len(list.Items)
		return len(found) < tries && n < lookedAt
	}, client.InNamespace(s.Namespace), client.MatchingLabelsSelector{Selector: s.Labels}, client.Limit(atOnce))
	return found, err
}

// roomy is up to which size annotations leave room for a stamp in any case.
const roomy = 64 << 10

func sizeOf(annotations map[string]string) (n int) {
	for key, value := range annotations {
		n += len(key) + len(value)
	}
	return n
}

// newborn is an object as a user would create another like it.
func newborn(o *unstructured.Unstructured) *unstructured.Unstructured {
	n := &unstructured.Unstructured{Object: map[string]any{}}
	for key, value := range o.DeepCopy().Object {
		if key != "status" && key != "metadata" {
			n.Object[key] = value
		}
	}
	n.SetNamespace(o.GetNamespace())
	n.SetName(probeName())
	labels := map[string]string{}
	for key, value := range o.GetLabels() {
		if !strings.HasSuffix(key, "controller-uid") {
			labels[key] = value
		}
	}
	annotations := map[string]string{}
	for key, value := range o.GetAnnotations() {
		if !storage.IsState(key) && key != "kubectl.kubernetes.io/last-applied-configuration" {
			annotations[key] = value
		}
	}
	n.SetLabels(labels)
	n.SetAnnotations(annotations)
	forgetAllocated(n)
	return n
}

// forgetAllocated drops what the API server gives to one object alone, and
// would refuse to give to another.
func forgetAllocated(o *unstructured.Unstructured) {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	switch o.GroupVersionKind().GroupKind().String() {
	case "Service":
		if spec["clusterIP"] != "None" {
			delete(spec, "clusterIP")
			delete(spec, "clusterIPs")
		}
		delete(spec, "healthCheckNodePort")
		ports, _ := spec["ports"].([]any)
		for _, port := range ports {
			if port, ok := port.(map[string]any); ok {
				delete(port, "nodePort")
			}
		}
	case "Job.batch":
		if spec["manualSelector"] == true {
			return
		}
		delete(spec, "selector")
		unstructured.RemoveNestedField(spec, "template", "metadata", "labels")
	default:
		return
	}
	o.Object["spec"] = spec
}
