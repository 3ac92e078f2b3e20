package sets

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// AggregateLabel on a ClusterRole gives its rules to Dogear's controller.
const AggregateLabel = "dogear.dev/aggregate-to-controller"

// rightsMissing is the reason of a condition that says which.
const rightsMissing = "RightsMissing"

// rights tells what this process may do. It is used by one goroutine.
type rights struct {
	client client.Client
	clock  clock.PassiveClock
	keeps  Keeps
	known  map[Right]knownRight
}

type knownRight struct {
	allowed bool
	at      time.Time
}

const (
	// allowedTTL is how long it counts that something is allowed, and
	// deniedTTL that it is not.
	allowedTTL = time.Minute
	deniedTTL  = 4 * time.Second
)

// missing lists the rights that the handlers of a set need, or their removal,
// and this process lacks.
func (r *rights) missing(ctx context.Context, v *verdict) (out []Right, err error) {
	on := Target{Resource: v.resource.name.GroupResource(), Kind: v.resource.kind, Status: v.resource.subresource}
	for _, n := range ObjectRights(ctx, v.set, on, r.keeps) {
		allowed, err := r.has(ctx, n)
		if err != nil {
			return nil, err
		}
		if !allowed {
			out = append(out, n)
		}
	}
	return out, nil
}

// has asks for a right. While the API server does not answer, what it has said
// last counts.
func (r *rights) has(ctx context.Context, n Right) (bool, error) {
	last, ok := r.known[n]
	if age := r.clock.Since(last.at); ok && (last.allowed && age < allowedTTL || age < deniedTTL) {
		return last.allowed, nil
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: n.Attributes(),
	}}
	if err := r.client.Create(ctx, review); err != nil && ok {
		return last.allowed, nil
	} else if err != nil {
		return false, fmt.Errorf("ask for the own rights: %w", err)
	}
	if r.known == nil {
		r.known = map[Right]knownRight{}
	}
	r.known[n] = knownRight{review.Status.Allowed, r.clock.Now()}
	return review.Status.Allowed, nil
}

// rightsMessage says which rule is missing, with what to apply.
func rightsMessage(v *verdict, missing []Right, apply ...any) string {
	var verbs []string
	for _, m := range missing {
		if m.Subresource != "" {
			m.Verb += " of its " + m.Subresource
		}
		verbs = append(verbs, m.Verb)
	}
	return fmt.Sprintf("Dogear lacks rights for %s: %s. Apply:\n%s", v.resource.name.GroupResource(), strings.Join(verbs, ", "), manifests(apply...))
}

// manifests are objects as YAML, to be applied as they are.
func manifests(objects ...any) string {
	var out strings.Builder
	for i, object := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			panic(err) // they are made of strings
		}
		out.Write(text)
	}
	return out.String()
}

// rightsFor are the roles by which this process may handle what a set names, and
// no more: a set in a namespace is no reason for rights in all of them.
func (s *Service) rightsFor(v *verdict) []any {
	name, status := v.resource.name.GroupResource(), v.resource.subresource
	if v.set.GetNamespace() == "" {
		return []any{ResourceRole(name, status)}
	}
	role, binding := NamespacedRole(v.set.GetNamespace(), name, status, WithUninstall(subjectOf(s.op.Username()), s.settings.UninstallAccount)...)
	return []any{role, binding}
}

// subjectOf is a user in the words of a binding.
func subjectOf(user string) rbacv1.Subject {
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		namespace, name, _ := strings.Cut(account, ":")
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}
}
