package uninstall

import (
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
)

// unhook deletes the webhook configurations: from then on, nothing that is
// written is stamped, and nobody's request waits for a server that ends.
func (r *run) unhook(ctx context.Context) error {
	_, err := r.deleteConfigurations(ctx)
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

func (r *run) deleteConfigurations(ctx context.Context) (there bool, err error) {
	for _, c := range []struct {
		resource      string
		configuration client.Object
		services      func(client.Object) []*admissionregistrationv1.ServiceReference
	}{
		{"mutatingwebhookconfigurations", &admissionregistrationv1.MutatingWebhookConfiguration{}, mutatingServices},
		{"validatingwebhookconfigurations", &admissionregistrationv1.ValidatingWebhookConfiguration{}, validatingServices},
	} {
		c.configuration.SetName(installation.Name)
		name := Object{Resource: c.resource + "." + admissionregistrationv1.GroupName, Name: installation.Name}
		if r.confined() && !r.owns(ctx, c.configuration, c.services) {
			r.note("The webhook configurations are left alone, if there are any: an installation in some namespaces has none")
			continue
		}
		switch err := r.client.Delete(ctx, c.configuration); {
		case apierrors.IsNotFound(err):
		case apierrors.IsForbidden(err) && !r.confined():
			return there, fmt.Errorf("delete %s, before anything else is changed; for an installation in some namespaces, name them with --namespaces: %w", name, err)
		case err != nil:
			return there, fmt.Errorf("delete %s, before anything else is changed: %w", name, err)
		default:
			there, r.unhooked = true, time.Now()
			r.deleted(name)
		}
	}
	return there, nil
}

// owns tells whether a configuration leads to a Service in the namespace of
// this installation, and not to that of another one.
func (r *run) owns(ctx context.Context, c client.Object, services func(client.Object) []*admissionregistrationv1.ServiceReference) bool {
	if r.found == nil || r.client.Get(ctx, client.ObjectKeyFromObject(c), c) != nil {
		return false
	}
	for _, s := range services(c) {
		if s == nil || s.Namespace != r.found.Namespace {
			return false
		}
	}
	return true
}

func mutatingServices(o client.Object) (services []*admissionregistrationv1.ServiceReference) {
	c := o.(*admissionregistrationv1.MutatingWebhookConfiguration)
	for i := range c.Webhooks {
		services = append(services, c.Webhooks[i].ClientConfig.Service)
	}
	return services
}

func validatingServices(o client.Object) (services []*admissionregistrationv1.ServiceReference) {
	c := o.(*admissionregistrationv1.ValidatingWebhookConfiguration)
	for i := range c.Webhooks {
		services = append(services, c.Webhooks[i].ClientConfig.Service)
	}
	return services
}

// deleted notes that an object of the service is gone.
func (r *run) deleted(o Object) {
	r.result.Deleted = append(r.result.Deleted, o)
	r.say("%s %s", r.would("Deleted", "Would delete"), o)
}
