package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/test/bench/subject"
	"github.com/dogear-dev/dogear/test/rig"
)

// namespaceOf is where the objects of a contender are, apart from those of the
// others. Its subject selects them by label.
func namespaceOf(contender string) string { return "bench-" + contender }

// start starts the control plane and sets up what the subjects need.
func (b *bench) start(ctx context.Context) error {
	var err error
	if b.cp, err = rig.Start(ctx, rig.Options{Log: b.progress}); err != nil {
		return err
	}
	crds, err := rig.CertManagerCRDs()
	if err != nil {
		return err
	}
	own, err := rig.DogearCRDs()
	if err != nil {
		return err
	}
	if err := b.cp.InstallCRDs(ctx, append(crds, own...)...); err != nil {
		return err
	}
	scheme := controller.DefaultScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	if b.admin, err = client.New(b.cp.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		return err
	}
	if b.http, err = rest.HTTPClientFor(b.cp.AdminConfig()); err != nil {
		return err
	}
	b.kubeconfigs = map[string]string{}
	for _, name := range []string{subject.Dogear, subject.Bare, subject.Noop, bareNoop, subject.HTTP} {
		config, err := b.cp.ServiceAccountConfig(ctx, namespaceOf(name), "subject", rightsOf(name))
		if err != nil {
			return err
		}
		b.kubeconfigs[name] = filepath.Join(b.dir, name+".kubeconfig")
		if err := rig.WriteKubeconfig(b.kubeconfigs[name], config); err != nil {
			return err
		}
	}
	for _, name := range []string{ceiling, none} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespaceOf(name)}}
		if err := b.admin.Create(ctx, namespace); err != nil {
			return err
		}
	}
	return nil
}

// rightsOf are the least rights that a subject can do with.
func rightsOf(name string) rig.Rights {
	objects := rbacv1.PolicyRule{APIGroups: []string{"cert-manager.io"}, Resources: []string{"certificates"}, Verbs: []string{"get", "list", "watch", "patch"}}
	secrets := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "create", "update"}}
	switch name {
	case subject.HTTP:
		return serviceRights(objects, rig.Rights{Namespaced: map[string][]rbacv1.PolicyRule{namespaceOf(name): {secrets}}})
	case subject.Bare:
		return rig.Rights{Cluster: []rbacv1.PolicyRule{objects}}
	case bareNoop:
		return rig.Rights{
			Cluster:    []rbacv1.PolicyRule{objects},
			Namespaced: map[string][]rbacv1.PolicyRule{namespaceOf(name): {secrets}},
		}
	case subject.Noop:
		return rig.Rights{Namespaced: map[string][]rbacv1.PolicyRule{namespaceOf(name): {secrets}}}
	}
	return rig.Rights{
		Cluster: []rbacv1.PolicyRule{
			objects,
			{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations"}, Verbs: []string{"get", "create", "patch"}},
			{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		},
		Namespaced: map[string][]rbacv1.PolicyRule{namespaceOf(name): {secrets}},
	}
}

// serviceRights are those of docs/service.md, beside the rest.
func serviceRights(objects rbacv1.PolicyRule, rest rig.Rights) rig.Rights {
	rule := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	rest.Cluster = append(rest.Cluster, objects,
		rule("cert-manager.io", []string{"certificates/status"}, "patch"),
		rule("dogear.dev", []string{"clusterhandlersets", "handlersets"}, "get", "list", "watch", "patch"),
		rule("dogear.dev", []string{"clusterhandlersets/status", "handlersets/status"}, "patch"),
		rule("", []string{"namespaces"}, "get", "list", "watch"),
		rule("", []string{"services"}, "get"),
		rule("admissionregistration.k8s.io", []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, "get", "create", "patch"),
		rule("events.k8s.io", []string{"events"}, "create", "patch"),
	)
	return rest
}

// requests are the counts of the API server once nothing is written any more.
func (b *bench) requests(ctx context.Context) (rig.Requests, error) {
	var last rig.Requests
	err := eventually(ctx, b.quiet(), func() error {
		now, err := b.cp.Requests(ctx)
		if err != nil {
			return fatal{err}
		}
		now = now.Only(rig.Match{})
		maps.DeleteFunc(now, func(r rig.Request, _ int) bool {
			return !changing(r.Verb) || r.Resource != "certificates" && r.Resource != "events"
		})
		if last != nil && maps.Equal(last, now) {
			return nil
		}
		last = now
		return errors.New("requests are still being made")
	})
	return last, err
}

// quiet is for how long nothing must be written to count as the end.
func (b *bench) quiet() time.Duration {
	if b.quick {
		return 50 * time.Millisecond
	}
	return 200 * time.Millisecond
}

func changing(verb string) bool {
	switch verb {
	case "POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION":
		return true
	}
	return false
}

// writesOf counts what the subjects have written: they change objects, which
// the driver creates and deletes; and only they post events.
func writesOf(r rig.Requests) (main, status, events int) {
	for _, verb := range []string{"PUT", "PATCH", "APPLY"} {
		main += r.Count(rig.Match{Verb: verb, Resource: "certificates", Subresource: rig.None, DryRun: rig.None})
		status += r.Count(rig.Match{Verb: verb, Resource: "certificates", Subresource: "status", DryRun: rig.None})
	}
	return main, status, r.Count(rig.Match{Resource: "events"})
}

// trial is the number of an object that is never stored.
const trial = 1 << 30

// awaitWebhook waits until admission calls a subject's webhook for every
// request: trial creations that are not stored.
func (b *bench) awaitWebhook(ctx context.Context, p *process) error {
	inRow := 0
	return eventually(ctx, askEvery, func() error {
		before, err := p.ask(subject.Look)
		if err != nil {
			return fatal{err}
		}
		if err := b.send(ctx, http.MethodPost, namespaceOf(p.name), "", "?dryRun=All", "application/json", body(p.name, trial)); err != nil {
			return err
		}
		after, err := p.ask(subject.Look)
		if err != nil {
			return fatal{err}
		}
		if inRow++; after.Calls == before.Calls {
			inRow = 0
		}
		if inRow < 3 {
			return fmt.Errorf("the webhook of %s is not called yet", p.name)
		}
		return nil
	})
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// resourceVersion is that of now.
func (b *bench) resourceVersion(ctx context.Context, namespace string) (string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(certificates.GroupVersion().WithKind("CertificateList"))
	err := b.admin.List(ctx, list, client.InNamespace(namespace), client.Limit(1))
	return list.ResourceVersion, err
}
