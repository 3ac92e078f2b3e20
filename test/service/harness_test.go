package service

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// settle is how long a test waits for what must happen.
const settle = 60 * time.Second

// bench is what a test has at hand. The tests of the package run one after
// another: there is one service in a cluster.
type bench struct {
	*testing.T
	cp        *rig.ControlPlane
	admin     client.Client
	namespace string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	scheme := controller.DefaultScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, cp: rigtest.ControlPlane(t), namespace: rigtest.Namespace(t)}
	var err error
	if b.admin, err = client.New(b.cp.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return b
}

// rights are those of the service, besides those for the resources that sets name.
func rights(namespace string, handled ...rbacv1.PolicyRule) rig.Rights {
	return rig.Rights{
		Cluster: append([]rbacv1.PolicyRule{
			{APIGroups: []string{"dogear.dev"}, Resources: []string{"clusterhandlersets", "handlersets"}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{"dogear.dev"}, Resources: []string{"clusterhandlersets/status", "handlersets/status"}, Verbs: []string{"patch"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"services", "secrets"}, Verbs: []string{"get"}},
			{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, Verbs: []string{"get", "create", "patch"}},
			{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		}, handled...),
		Namespaced: map[string][]rbacv1.PolicyRule{namespace: {
			{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "create", "update"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		}},
	}
}

var handleAll = []rbacv1.PolicyRule{
	{APIGroups: []string{"cert-manager.io", "test.dogear.dev"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "patch"}},
	{APIGroups: []string{""}, Resources: []string{"services", "configmaps", "secrets", "persistentvolumeclaims"}, Verbs: []string{"get", "list", "watch", "patch"}},
	{APIGroups: []string{""}, Resources: []string{"services/status", "persistentvolumeclaims/status"}, Verbs: []string{"patch"}},
}

// handleNone lets the service look at ConfigMaps, and no more.
var handleNone = []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch"}}}

func (b *bench) account(name string, handled []rbacv1.PolicyRule) *rest.Config {
	b.Helper()
	c, err := b.cp.ServiceAccountConfig(b.Context(), b.namespace, name, rights(b.namespace, handled...))
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// running is a service that runs.
type running struct {
	*bench
	stop   func()
	abrupt bool // an error at the end is none
}

type setsOptions = sets.Options

// start runs the service until the test ends, as a ServiceAccount that may
// handle all of the rig's kinds.
func (b *bench) start(changes ...func(*sets.Options)) *running {
	b.Helper()
	address := freeAddress(b)
	settings := config.Default()
	settings.Namespace, settings.LeaderElect = b.namespace, false
	settings.MetricsAddress, settings.HealthAddress = "", ""
	settings.Webhook.Address, settings.Webhook.URL, settings.Webhook.LameDuck = address, "https://"+address, -1
	settings.AllowLoopback = true
	options := sets.Options{Settings: settings, Log: rigtest.Log(b.T)}
	for _, change := range changes {
		change(&options)
	}
	if options.Config == nil {
		options.Config = b.account("dogear", handleAll)
	}
	service, err := sets.New(options)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	r := &running{bench: b}
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil && !r.abrupt {
			b.Errorf("the service ended with: %v", err)
		}
	})
	go func() { ended <- service.Start(ctx) }()
	b.Cleanup(r.stop)
	b.Cleanup(b.dropSets) // before it stops: sets wait for their removal
	if settings := options.Settings; settings.Webhook.Enabled() {
		b.eventually(func() error {
			dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // only whether it serves
			connection, err := dialer.DialContext(b.Context(), "tcp", settings.Webhook.Address)
			if err == nil {
				err = connection.Close()
			}
			return err
		})
	}
	return r
}

func (b *bench) dropSets() {
	ctx := context.Background()
	for _, list := range []client.ObjectList{&v1alpha1.ClusterHandlerSetList{}, &v1alpha1.HandlerSetList{}} {
		if err := b.admin.List(ctx, list); err != nil {
			b.Error(err)
			continue
		}
		_ = meta.EachListItem(list, func(o runtime.Object) error {
			return client.IgnoreNotFound(b.admin.Delete(ctx, o.(client.Object)))
		})
	}
	left := func() error {
		for _, list := range []client.ObjectList{&v1alpha1.ClusterHandlerSetList{}, &v1alpha1.HandlerSetList{}} {
			if err := b.admin.List(ctx, list); err != nil {
				return err
			}
			if err := meta.EachListItem(list, func(o runtime.Object) error {
				return fmt.Errorf("%s is still there: %+v", o.(client.Object).GetName(), o.(v1alpha1.AnySet).Observed())
			}); err != nil {
				return err
			}
		}
		return nil
	}
	deadline := time.Now().Add(settle)
	for left() != nil && time.Now().Before(deadline) {
		time.Sleep(25 * time.Millisecond)
	}
	if err := left(); err != nil {
		b.Error(err)
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := rig.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// apply creates an object from YAML, in the test's namespace where it has one.
func (b *bench) apply(text string) *unstructured.Unstructured {
	b.Helper()
	u, err := b.tryApply(text)
	if err != nil {
		b.Fatal(err)
	}
	return u
}

func (b *bench) tryApply(text string) (*unstructured.Unstructured, error) {
	b.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		b.Fatal(err)
	}
	mapping, err := b.admin.RESTMapper().RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version)
	if err != nil {
		b.Fatal(err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace && u.GetNamespace() == "" {
		u.SetNamespace(b.namespace)
	}
	return u, b.admin.Create(b.Context(), u)
}

// set declares a ClusterHandlerSet for the test's namespace alone.
func (b *bench) set(name, resource, spec string) *v1alpha1.ClusterHandlerSet {
	b.Helper()
	s := &v1alpha1.ClusterHandlerSet{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: b.spec(resource, spec)}
	if s.Spec.Match == nil {
		s.Spec.Match = &v1alpha1.Match{}
	}
	if s.Spec.Match.NamespaceSelector == nil {
		s.Spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": b.namespace}}
	}
	if err := b.admin.Create(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	return s
}

// namespaced declares a HandlerSet in the test's namespace.
func (b *bench) namespaced(name, resource, spec string) *v1alpha1.HandlerSet {
	b.Helper()
	s := &v1alpha1.HandlerSet{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Spec: b.spec(resource, spec)}
	if err := b.admin.Create(b.Context(), s); err != nil {
		b.Fatal(err)
	}
	return s
}

func (b *bench) spec(resource, text string) (spec v1alpha1.HandlerSetSpec) {
	b.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		b.Fatal(err)
	}
	gvr, _ := schema.ParseResourceArg(resource)
	if gvr == nil {
		gvr = &schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	spec.Resource = v1alpha1.Resource{Group: gvr.Group, Version: gvr.Version, Resource: gvr.Resource}
	return spec
}

// awaitReady waits until a set is in force.
func (b *bench) awaitReady(s v1alpha1.AnySet) {
	b.Helper()
	b.awaitCondition(s, v1alpha1.ConditionReady, metav1.ConditionTrue, "")
}

// awaitCondition waits for a condition about the set as it was last applied.
func (b *bench) awaitCondition(s v1alpha1.AnySet, kind string, status metav1.ConditionStatus, reason string) *metav1.Condition {
	b.Helper()
	var c *metav1.Condition
	rigtest.Eventually(b, settle, func() error {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(s), s.(client.Object)); err != nil {
			return err
		}
		c = meta.FindStatusCondition(s.Observed().Conditions, kind)
		if c == nil || c.Status != status || reason != "" && c.Reason != reason || c.ObservedGeneration != s.GetGeneration() {
			text, _ := json.Marshal(s.Observed())
			return fmt.Errorf("%s: want %s %s %s, have %s", s.GetName(), kind, status, reason, text)
		}
		return nil
	})
	return c
}

// await waits for an object's state.
func (b *bench) await(u *unstructured.Unstructured, state string) *unstructured.Unstructured {
	b.Helper()
	fresh := &unstructured.Unstructured{}
	fresh.SetGroupVersionKind(u.GroupVersionKind())
	rigtest.Eventually(b, settle, func() error {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(u), fresh); err != nil {
			return err
		}
		if have := fresh.GetAnnotations()[storage.ServicePrefix.Key(storage.KeyState)]; have != state {
			return fmt.Errorf("%s %s: state is %q, want %q; annotations %v", u.GetKind(), u.GetName(), have, state, fresh.GetAnnotations())
		}
		return nil
	})
	return fresh
}

// eventually waits until a rule holds.
func (b *bench) eventually(holds func() error) {
	b.Helper()
	rigtest.Eventually(b, settle, holds)
}

const certificate = `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: %s}
spec: {secretName: %s-tls, dnsNames: [%s.example.com], issuerRef: {name: ca}}
`

func (b *bench) certificate(name string) *unstructured.Unstructured {
	b.Helper()
	return b.apply(fmt.Sprintf(certificate, name, name, name))
}

// objects checks on how many objects a set counts its handlers.
func (b *bench) objects(s *v1alpha1.ClusterHandlerSet, want int64) error {
	if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		return err
	}
	if s.Status.Objects != want {
		return fmt.Errorf("%d objects, want %d: %+v", s.Status.Objects, want, s.Status)
	}
	return nil
}

func (b *bench) isGone(o client.Object) error {
	err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(o), o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	text, _ := json.Marshal(o)
	return fmt.Errorf("still there: %s %w", text, err)
}

func (b *bench) get(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	fresh := &unstructured.Unstructured{}
	fresh.SetGroupVersionKind(u.GroupVersionKind())
	if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(u), fresh); err != nil {
		b.Fatal(err)
	}
	return fresh
}
