package check

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// round is one look at the cluster. What several checks need is read once.
type round struct {
	*Checker
	me          once[string]
	where       once[*place]
	definitions map[string]*once[*apiextensionsv1.CustomResourceDefinition] // by name
	all         once[[]v1alpha1.AnySet]
	resources   once[[]*resource]
	mutating    once[*mutating]
	validating  once[*validating]
	leaf        once[*served]
	spaces      once[map[string]labels.Set]
	scans       map[schema.GroupVersionKind]*scan
}

// once is a value that is asked for once.
type once[T any] struct {
	asked bool
	value T
	err   error
}

func (o *once[T]) get(ask func() (T, error)) (T, error) {
	if !o.asked {
		o.value, o.err = ask()
		o.asked = true
	}
	return o.value, o.err
}

// user is who asks.
func (r *round) user(ctx context.Context) (string, error) {
	return r.me.get(func() (string, error) {
		review := &authenticationv1.SelfSubjectReview{}
		err := r.client.Create(ctx, review)
		return review.Status.UserInfo.Username, err
	})
}

// unread is the result of a check that could not read what it is about. That
// the person who asks may not read it says nothing of Dogear.
func (r *round) unread(err error) Result {
	switch {
	case errors.Is(err, errNoSets), errors.Is(err, errUnnamed):
		return skipped("%s", err)
	case apierrors.IsForbidden(err):
		return skipped("%s", err).hint("ask as somebody who may, or have that right given to you")
	case isGone(err):
		return skipped("%s", err)
	}
	return failed("%s", err).hint("see whether the API server is overloaded, and try again")
}

// pageSize is how many objects are listed at a time.
const pageSize = 500

// pages lists all objects page by page, until see says that it has seen enough.
func (r *round) pages(ctx context.Context, list client.ObjectList, see func() (more bool), options ...client.ListOption) error {
	token := ""
	for {
		err := r.client.List(ctx, list, append([]client.ListOption{client.Limit(pageSize), client.Continue(token)}, options...)...)
		if err != nil {
			return err
		}
		if token = list.GetContinue(); !see() || token == "" {
			return nil
		}
	}
}

// errNoSets says that there cannot be any set.
var errNoSets = errors.New("sets are not known, as their CRDs are missing")

func noSets(tried string, err error) error {
	if isGone(err) {
		return errNoSets
	}
	return fmt.Errorf("%s: %w", tried, err)
}

// isGone tells that a kind is not served: then there are no objects of it.
func isGone(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// sets are all sets that count in this installation.
func (r *round) sets(ctx context.Context) ([]v1alpha1.AnySet, error) {
	return r.all.get(func() (all []v1alpha1.AnySet, err error) {
		take := func(list client.ObjectList) func() bool {
			return func() bool {
				_ = meta.EachListItem(list, func(o runtime.Object) error {
					all = append(all, o.DeepCopyObject().(v1alpha1.AnySet))
					return nil
				})
				return true
			}
		}
		namespaces := []string{metav1.NamespaceAll}
		if place, err := r.place(ctx); err == nil && place.confined() {
			namespaces = place.settings.namespaces
		} else {
			list := &v1alpha1.ClusterHandlerSetList{}
			if err := r.pages(ctx, list, take(list)); err != nil {
				return nil, noSets("list ClusterHandlerSets", err)
			}
		}
		for _, namespace := range namespaces {
			list := &v1alpha1.HandlerSetList{}
			if err := r.pages(ctx, list, take(list), client.InNamespace(namespace)); err != nil {
				return nil, noSets("list HandlerSets", err)
			}
		}
		return all, nil
	})
}

// nameOf is how people call a set.
func nameOf(set v1alpha1.AnySet) string {
	if set.GetNamespace() == "" {
		return "ClusterHandlerSet " + set.GetName()
	}
	return "HandlerSet " + set.GetNamespace() + "/" + set.GetName()
}

// keyOf is the name of an object, with its namespace where it has one.
func keyOf(o metav1.Object) string {
	if o.GetNamespace() == "" {
		return o.GetName()
	}
	return o.GetNamespace() + "/" + o.GetName()
}
