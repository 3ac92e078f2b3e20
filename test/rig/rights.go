package rig

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

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
