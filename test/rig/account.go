package rig

import (
	"context"
	"errors"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
