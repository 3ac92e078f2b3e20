package uninstall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/webhook"
)

// unhook deletes the webhook configurations: from then on, nothing that is
// written is stamped, and nobody's request waits for a server that ends.
func (r *run) unhook(ctx context.Context) error {
	_, err := r.deleteConfigurations(ctx)
	if err != nil && len(r.result.Deleted) == 0 && !again(err) {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return err
}

// unhookAgain deletes those that a controller has put back before it ended.
func (r *run) unhookAgain(ctx context.Context) error {
	if r.DryRun {
		return nil
	}
	again, err := r.deleteConfigurations(ctx)
	if again {
		r.say("A controller had put the webhook configuration back before it ended: deleted again")
	}
	return err
}

// hook is a webhook configuration of the service.
type hook struct {
	name          Object
	configuration client.Object
}

// hooks are the webhook configurations that are in the cluster and may be deleted.
// It fails where they are those of another installation.
func (r *run) hooks(ctx context.Context) (found []hook, err error) {
	for resource, c := range map[string]client.Object{
		"mutatingwebhookconfigurations":   &admissionregistrationv1.MutatingWebhookConfiguration{},
		"validatingwebhookconfigurations": &admissionregistrationv1.ValidatingWebhookConfiguration{},
	} {
		c.SetName(installation.Name)
		h := hook{Object{Resource: resource + "." + admissionregistrationv1.GroupName, Name: installation.Name}, c}
		err := r.client.Get(ctx, client.ObjectKeyFromObject(c), c)
		switch {
		case apierrors.IsNotFound(err):
		case r.confined() && (err != nil || r.found == nil || len(r.foreign(c)) > 0):
			r.note("The webhook configurations are left alone, if there are any: an installation in some namespaces has none")
		case err != nil:
			return nil, r.refused("read", h, err)
		default:
			if err := r.lookBehind(ctx, h); err != nil {
				return nil, err
			}
			found = append(found, h)
		}
	}
	slices.SortFunc(found, func(a, b hook) int { return cmp.Compare(a.name.Resource, b.name.Resource) })
	return found, nil
}

// foreign are the Services in other namespaces to which a configuration leads. In
// a confined run, a server that is no Service is foreign, too: it may be anybody's.
func (r *run) foreign(c client.Object) (services []client.ObjectKey) {
	for _, to := range webhook.ClientConfigs(c) {
		switch s := to.Service; {
		case s == nil && r.confined():
			services = append(services, client.ObjectKey{})
		case s != nil && s.Namespace != r.found.Namespace:
			services = append(services, client.ObjectKey{Namespace: s.Namespace, Name: s.Name})
		}
	}
	return services
}

// lookBehind fails where a configuration leads to a Service of an installation in
// another namespace. To whoever may not look there, as the Job of the chart, the
// Service is as good as there.
func (r *run) lookBehind(ctx context.Context, h hook) error {
	if r.found == nil {
		return nil // nothing runs anywhere
	}
	for _, key := range r.foreign(h.configuration) {
		switch err := r.client.Get(ctx, key, &corev1.Service{}); {
		case apierrors.IsNotFound(err):
		case err == nil || apierrors.IsForbidden(err):
			return fmt.Errorf("%s leads to the Service %s: it is that of another Dogear, which needs what would be removed: did you mean -n %s? If that is gone, delete the webhook configurations, and run this again",
				h.name, key, key.Namespace)
		default:
			return fmt.Errorf("read the Service %s to which %s leads: %w", key, h.name, err)
		}
	}
	return nil
}

// deleteConfigurations deletes what was looked at, and nothing that was written
// since.
func (r *run) deleteConfigurations(ctx context.Context) (there bool, err error) {
	hooks, err := r.hooks(ctx)
	if err != nil {
		return false, err
	}
	for _, h := range hooks {
		uid, version := h.configuration.GetUID(), h.configuration.GetResourceVersion()
		switch err := r.client.Delete(ctx, h.configuration, client.Preconditions{UID: &uid, ResourceVersion: &version}); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return there, r.refused("delete", h, err)
		default:
			there, r.unhooked = true, time.Now()
			r.deleted(h.name)
		}
	}
	return there, nil
}

// refused is the error of a request about a configuration.
func (r *run) refused(tried string, h hook, err error) error {
	if apierrors.IsForbidden(err) && !r.confined() {
		return fmt.Errorf("%s %s; for an installation in some namespaces, name them with --namespaces: %w", tried, h.name, err)
	}
	return fmt.Errorf("%s %s: %w", tried, h.name, err)
}

// deleted notes that an object of the service is gone.
func (r *run) deleted(o Object) {
	r.result.Deleted = append(r.result.Deleted, o)
	r.say("%s %s", r.would("Deleted", "Would delete"), o)
}
