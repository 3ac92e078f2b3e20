package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// settle is how long a test waits for what must happen.
const settle = 60 * time.Second

// bench is what a test has at hand.
type bench struct {
	*testing.T
	cp        *rig.ControlPlane
	admin     client.Client
	namespace string
	domain    string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, cp: rigtest.ControlPlane(t), admin: rigtest.Client(t), namespace: rigtest.Namespace(t)}
	b.domain = b.namespace + ".example.com" // an operator of its own for each test
	return b
}

func (b *bench) key(name string) string { return "dogear." + b.domain + "/" + name }

// operator is a running operator of a test.
type operator struct {
	*bench
	stop  func()
	ended chan error
}

// start runs an operator in the test's namespace until the test ends.
func (b *bench) start(register func(handler.Registry), changes ...func(*controller.Options)) *operator {
	b.Helper()
	options := controller.Options{Domain: b.domain, Config: b.cp.AdminConfig(), Namespace: b.namespace, Log: rigtest.Log(b)}
	for _, change := range changes {
		change(&options)
	}
	op, err := controller.New(options)
	if err != nil {
		b.Fatal(err)
	}
	register(op)
	ctx, cancel := context.WithCancel(context.Background())
	o := &operator{bench: b, ended: make(chan error, 1)}
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-o.ended; err != nil {
			b.Errorf("the operator ended with: %v", err)
		}
	})
	go func() { o.ended <- op.Start(ctx) }()
	b.Cleanup(o.stop)
	return o
}

// withWebhook has the operator serve admission, as a ServiceAccount of its own
// with no more rights than the documentation says, so that the test's client is
// one user and the operator another.
func (b *bench) withWebhook() func(*controller.Options) {
	return func(o *controller.Options) {
		o.Config = b.account("operator")
		address := freeAddress(b)
		o.Webhook = &controller.Webhook{Address: address, URL: "https://" + address, LameDuck: -1}
	}
}

// account makes a ServiceAccount with the rights of an operator.
func (b *bench) account(name string) *rest.Config {
	b.Helper()
	config, err := b.cp.ServiceAccountConfig(b.Context(), b.namespace, name, rig.Rights{
		Cluster: []rbacv1.PolicyRule{
			{APIGroups: []string{"cert-manager.io", "test.dogear.dev"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{""}, Resources: []string{"services", "persistentvolumeclaims", "configmaps", "secrets", "services/status", "persistentvolumeclaims/status"}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations"}, Verbs: []string{"get", "create", "patch"}},
			{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		},
		Namespaced: map[string][]rbacv1.PolicyRule{b.namespace: {
			{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"get", "create", "update"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		}},
	})
	if err != nil {
		b.Fatal(err)
	}
	return config
}

func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := rig.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// awaitWebhook waits until admission stamps: a dry-run creation comes back
// with a marker.
func (b *bench) awaitWebhook(u *unstructured.Unstructured) {
	b.Helper()
	rigtest.Eventually(b, settle, func() error {
		probe := u.DeepCopy()
		probe.SetName("probe-" + u.GetName())
		if err := b.admin.Create(b.Context(), probe, client.DryRunAll); err != nil {
			return err
		}
		if probe.GetAnnotations()[b.key("state")] == "" {
			return fmt.Errorf("a new %s is not stamped", u.GetKind())
		}
		return nil
	})
}

// kinds that a test may go through, with a spec each.
var kinds = []struct {
	name string
	kind schema.GroupVersionKind
	body string
}{
	{"Certificate", certificateKind, `{"spec":{"secretName":"s","dnsNames":["a.example.com"],"issuerRef":{"name":"ca"}}}`},
	{"Service", schema.GroupVersionKind{Version: "v1", Kind: "Service"}, `{"spec":{"ports":[{"port":80}],"selector":{"a":"b"}}}`},
	{"PersistentVolumeClaim", schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, `{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
	{"ConfigMap", schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, `{"data":{"a":"b"}}`},
	{"Secret", schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, `{"stringData":{"a":"b"}}`},
	{"Widget", testKind("Widget"), `{"spec":{"size":1}}`},
	{"Strict", testKind("Strict"), `{"spec":{"size":1}}`},
	{"Nested", testKind("Nested"), `{"spec":{"size":1}}`},
	{"Phased", testKind("Phased"), `{"spec":{"size":1}}`},
	{"Enumed", testKind("Enumed"), `{"spec":{"size":1}}`},
	{"Bare", testKind("Bare"), `{"spec":{"size":1}}`},
	{"ClusterWide", testKind("ClusterWide"), `{"spec":{"size":1}}`},
	{"Frozen", testKind("Frozen"), `{"spec":{"size":1}}`},
}

var certificateKind = schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}

func testKind(name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "test.dogear.dev", Version: "v1", Kind: name}
}

// object builds an object of a kind; cluster-scoped ones get a name that no
// other test has.
func (b *bench) object(kind schema.GroupVersionKind, name, body string) *unstructured.Unstructured {
	b.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(body), &u.Object); err != nil {
		b.Fatal(err)
	}
	u.SetGroupVersionKind(kind)
	u.SetName(name)
	if kind.Kind == "ClusterWide" {
		u.SetName(b.namespace + "-" + name)
	} else {
		u.SetNamespace(b.namespace)
	}
	u.SetLabels(map[string]string{"test": b.namespace})
	return u
}

func (b *bench) create(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	if err := b.admin.Create(b.Context(), u); err != nil {
		b.Fatal(err)
	}
	return u
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

// await waits until the object's state annotation is as wanted, and returns it.
func (b *bench) await(u *unstructured.Unstructured, state string) *unstructured.Unstructured {
	b.Helper()
	fresh := &unstructured.Unstructured{}
	fresh.SetGroupVersionKind(u.GroupVersionKind())
	rigtest.Eventually(b, settle, func() error {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(u), fresh); err != nil {
			return err
		}
		if have := fresh.GetAnnotations()[b.key("state")]; have != state {
			return fmt.Errorf("%s %s: state is %q, want %q; annotations %s", u.GetKind(), u.GetName(), have, state, b.ours(fresh))
		}
		return nil
	})
	return fresh
}

// ours prints the operator's annotations.
func (b *bench) ours(u *unstructured.Unstructured) string {
	var out []string
	for key, value := range u.GetAnnotations() {
		if strings.HasPrefix(key, "dogear.") {
			out = append(out, key+"="+value)
		}
	}
	return strings.Join(out, "\n  ")
}

// calls counts what a handler was told.
type calls struct {
	mu   sync.Mutex
	list []handler.Info
}

func (c *calls) add(i handler.Info) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, i)
	return len(c.list)
}

func (c *calls) all() []handler.Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]handler.Info(nil), c.list...)
}

type request = handler.Request[*unstructured.Unstructured]
