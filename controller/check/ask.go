package check

import (
	"context"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/sets"
)

// askers is how many reviews are under way at the same time.
const askers = 8

// missing asks which rights a ServiceAccount lacks, each once.
func (r *round) missing(ctx context.Context, p *place, account string, needed []sets.Right) (lacking []sets.Right, err error) {
	me, err := r.user(ctx)
	if err != nil {
		return nil, err
	}
	user := "system:serviceaccount:" + p.Namespace + ":" + account
	var group errgroup.Group
	group.SetLimit(askers)
	asked := map[sets.Right]bool{}
	has := make([]bool, len(needed))
	for i, n := range needed {
		if has[i] = asked[n]; has[i] {
			continue // it is told where it was asked for
		}
		asked[n] = true
		group.Go(func() (err error) {
			has[i], err = r.has(ctx, n, user, me, p)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i, n := range needed {
		if !has[i] {
			lacking = append(lacking, n)
		}
	}
	return lacking, nil
}

// may asks whether this process may do something with one object of the core group.
func (r *round) may(ctx context.Context, verb string, key client.ObjectKey, resource string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Namespace: key.Namespace, Verb: verb, Version: "v1", Resource: resource, Name: key.Name,
	}}}
	err := r.client.Create(ctx, review)
	return review.Status.Allowed, err
}

// has asks for one right: of this process where it is the user, else of the
// user; of one in a namespace with the rights for that namespace, where there
// are no others.
func (r *round) has(ctx context.Context, n sets.Right, user, me string, p *place) (bool, error) {
	attributes := n.Attributes()
	if me == user {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}
		err := r.client.Create(ctx, review)
		return review.Status.Allowed, err
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: attributes, User: user,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + p.Namespace, "system:authenticated"},
	}
	if p.confined() && n.Namespace != "" {
		review := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: n.Namespace}, Spec: spec}
		err := r.client.Create(ctx, review)
		return review.Status.Allowed, err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: spec}
	err := r.client.Create(ctx, review)
	return review.Status.Allowed, err
}
