package rig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Rights are what a ServiceAccount may do, beyond what every user may (see
// the discovery documents and itself).
type Rights struct {
	// Cluster holds in all namespaces and for cluster-wide resources.
	Cluster []rbacv1.PolicyRule
	// Namespaced holds by namespace; each must exist.
	Namespaced map[string][]rbacv1.PolicyRule
}

// ServiceAccountConfig makes the ServiceAccount name with exactly these rights,
// and its namespace if it is missing, and returns a configuration that holds
// nothing but a token of it (good for 1 hour), without a limit on its rate. It
// returns once the API server grants the rights. Called again, it replaces
// the rights per role; rights taken away may still hold for some milliseconds.
func (cp *ControlPlane) ServiceAccountConfig(ctx context.Context, namespace, name string, rights Rights) (*rest.Config, error) {
	admin, err := cp.Client()
	if err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err = errors.Join(
		ensure(ctx, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}),
		ensure(ctx, admin, account),
		grant(ctx, admin, account, rights),
	)
	if err != nil {
		return nil, fmt.Errorf("set up ServiceAccount %s/%s: %w", namespace, name, err)
	}
	token, err := cp.Token(ctx, namespace, name, time.Hour)
	if err != nil {
		return nil, err
	}
	config := cp.anonymous()
	config.BearerToken = token
	return config, nil
}

// Token returns a new token of a ServiceAccount that is good for the given
// time: at least 10 minutes, says the API server.
func (cp *ControlPlane) Token(ctx context.Context, namespace, name string, good time.Duration) (string, error) {
	admin, err := cp.Client()
	if err != nil {
		return "", err
	}
	seconds := int64(good / time.Second)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if err := admin.SubResource("token").Create(ctx, account, request); err != nil {
		return "", fmt.Errorf("request a token of ServiceAccount %s/%s: %w", namespace, name, err)
	}
	return request.Status.Token, nil
}

// ensure creates an object; one that exists is left as it is.
func ensure(ctx context.Context, admin client.Client, object client.Object) error {
	return client.IgnoreAlreadyExists(admin.Create(ctx, object))
}

func grant(ctx context.Context, admin client.Client, account *corev1.ServiceAccount, rights Rights) error {
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}}
	label := fmt.Sprintf("rig:%s:%s", account.Namespace, account.Name)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: label}}
	_, err := controllerutil.CreateOrUpdate(ctx, admin, role, func() error { role.Rules = rights.Cluster; return nil })
	if err != nil {
		return err
	}
	if err := ensure(ctx, admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: label}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: label},
	}); err != nil {
		return err
	}
	for namespace, rules := range rights.Namespaced {
		role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: label}}
		_, err := controllerutil.CreateOrUpdate(ctx, admin, role, func() error { role.Rules = rules; return nil })
		if err != nil {
			return err
		}
		if err := ensure(ctx, admin, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: label}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: label},
		}); err != nil {
			return err
		}
	}
	return awaitRights(ctx, admin, account, rights)
}

// awaitRights waits until the authorizer, which watches roles, has seen them.
func awaitRights(ctx context.Context, admin client.Client, account *corev1.ServiceAccount, rights Rights) error {
	var asks []authorizationv1.SubjectAccessReviewSpec
	for _, rule := range rights.Cluster {
		asks = append(asks, question(account, "", rule))
	}
	for namespace, rules := range rights.Namespaced {
		for _, rule := range rules {
			asks = append(asks, question(account, namespace, rule))
		}
	}
	for _, ask := range asks {
		err := wait(ctx, func() error {
			review := &authorizationv1.SubjectAccessReview{Spec: ask}
			if err := admin.Create(ctx, review); err != nil {
				return err
			}
			if !review.Status.Allowed {
				return fmt.Errorf("not yet allowed: %v", ask)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// question asks for the first thing that a rule allows.
func question(account *corev1.ServiceAccount, namespace string, rule rbacv1.PolicyRule) authorizationv1.SubjectAccessReviewSpec {
	spec := authorizationv1.SubjectAccessReviewSpec{
		User:   fmt.Sprintf("system:serviceaccount:%s:%s", account.Namespace, account.Name),
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + account.Namespace, "system:authenticated"},
	}
	first := func(of []string) string { return append(slices.Clone(of), "")[0] }
	if len(rule.NonResourceURLs) > 0 {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Verb: first(rule.Verbs), Path: first(rule.NonResourceURLs)}
		return spec
	}
	resource, subresource := split(first(rule.Resources))
	spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: first(rule.Verbs), Group: first(rule.APIGroups),
		Resource: resource, Subresource: subresource, Name: first(rule.ResourceNames),
	}
	return spec
}
