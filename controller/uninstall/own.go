package uninstall

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
)

// deleteOwn deletes what the controller has made for itself, unless something
// is left for which it is needed. The ledger goes last, so that a run which ends
// before can be made again.
func (r *run) deleteOwn(ctx context.Context) error {
	if r.found == nil {
		return nil
	}
	if len(r.result.Left) > 0 {
		r.note("As something is left, the ledger, the Lease and the Secrets of Dogear stay for the next run")
		return nil
	}
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: r.found.Namespace, Name: name}
	}
	if err := r.deleteObject(ctx, "leases.coordination.k8s.io", &coordinationv1.Lease{ObjectMeta: meta(installation.Name)}); err != nil {
		return err
	}
	for _, name := range installation.Secrets() {
		if err := r.deleteObject(ctx, "secrets", &corev1.Secret{ObjectMeta: meta(name)}); err != nil {
			return err
		}
	}
	if len(r.result.Left) > 0 {
		return nil
	}
	if elsewhere := r.elsewhere(); len(elsewhere) > 0 {
		r.note("The ledger, the ConfigMap %s/%s, stays, as it has handlers of sets in namespaces that were not looked into: %s. Run this with -n and --namespaces of each, as an administrator, and delete it then",
			r.found.Namespace, installation.Name, strings.Join(elsewhere, ", "))
		return nil
	}
	return r.deleteObject(ctx, "configmaps", &corev1.ConfigMap{ObjectMeta: meta(installation.Name)})
}

// deleteObject deletes an object. One that is refused is left; an error is only
// that there was no answer.
func (r *run) deleteObject(ctx context.Context, resource string, o client.Object) error {
	name := Object{Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName()}
	switch err := r.client.Delete(ctx, o); {
	case apierrors.IsNotFound(err):
	case installation.Transient(err), apierrors.IsConflict(err):
		return fmt.Errorf("delete %s: %w", name, err)
	case err != nil:
		r.leave(name, installation.Reason(err))
	default:
		r.deleted(name)
	}
	return nil
}
