package uninstall

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	rigtest.Main(m, rigtest.WithTestCRDs("Strict", "Widget", "ClusterWide"), rigtest.WithDogearCRDs())
}

const (
	ours    = "dogear.dev/finalizer"
	foreign = "example.com/protect"
	settle  = 60 * time.Second
)

var (
	strict      = schema.GroupVersionKind{Group: "test.dogear.dev", Version: "v1", Kind: "Strict"}
	widget      = schema.GroupVersionKind{Group: "test.dogear.dev", Version: "v1", Kind: "Widget"}
	clusterWide = schema.GroupVersionKind{Group: "test.dogear.dev", Version: "v1", Kind: "ClusterWide"}
	configMap   = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	service     = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
)

// bench is what a test has at hand. The tests of the package run one after
// another: there is one service in a cluster.
type bench struct {
	*testing.T
	cp        *rig.ControlPlane
	admin     client.Client
	namespace string // of the service
	made      []*unstructured.Unstructured
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, cp: rigtest.ControlPlane(t), admin: rigtest.Client(t), namespace: rigtest.Namespace(t)}
	t.Cleanup(b.drop)
	return b
}

// drop removes what the test has made, as other tests see all of the cluster.
func (b *bench) drop() {
	var group errgroup.Group
	group.SetLimit(16)
	drop := func(u *unstructured.Unstructured) error {
		none := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		if err := b.admin.Patch(context.Background(), u.DeepCopy(), none); err != nil {
			return client.IgnoreNotFound(err)
		}
		return client.IgnoreNotFound(b.admin.Delete(context.Background(), u))
	}
	for _, u := range b.made {
		group.Go(func() error { // a policy of the test may still hold
			return retry.OnError(wait.Backoff{Duration: 50 * time.Millisecond, Steps: 200}, func(error) bool { return true }, func() error { return drop(u) })
		})
	}
	if err := group.Wait(); err != nil {
		b.Error(err)
	}
}

// object is one to be created; without a namespace it is that of the service.
func (b *bench) object(kind schema.GroupVersionKind, name string, finalizers ...string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(kind)
	u.SetName(name)
	u.SetFinalizers(finalizers)
	if kind != clusterWide {
		u.SetNamespace(b.namespace)
	}
	if kind == service {
		_ = unstructured.SetNestedField(u.Object, []any{map[string]any{"port": int64(80)}}, "spec", "ports")
	}
	return u
}

func (b *bench) create(objects ...*unstructured.Unstructured) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for _, u := range objects {
		group.Go(func() error { return b.admin.Create(b.Context(), u) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	b.made = append(b.made, objects...)
}

// many creates objects with our finalizer.
func (b *bench) many(kind schema.GroupVersionKind, n int) []*unstructured.Unstructured {
	b.Helper()
	var objects []*unstructured.Unstructured
	for i := range n {
		objects = append(objects, b.object(kind, fmt.Sprintf("%s-%04d", strings.ToLower(kind.Kind), i), ours))
	}
	b.create(objects...)
	return objects
}

// delete deletes an object, which its finalizers hold.
func (b *bench) delete(u client.Object) {
	b.Helper()
	if err := b.admin.Delete(b.Context(), u); err != nil {
		b.Fatal(err)
	}
}

// live reads an object again; nil: it is gone.
func (b *bench) live(u *unstructured.Unstructured) *unstructured.Unstructured {
	b.Helper()
	fresh := &unstructured.Unstructured{}
	fresh.SetGroupVersionKind(u.GroupVersionKind())
	err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(u), fresh)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		b.Fatal(err)
	}
	return fresh
}

// finalizers checks those of an object.
func (b *bench) finalizers(u *unstructured.Unstructured, want ...string) {
	b.Helper()
	fresh := b.live(u)
	if fresh == nil {
		b.Errorf("%s %s is gone", u.GetKind(), u.GetName())
	} else if have := fresh.GetFinalizers(); !slices.Equal(have, want) {
		b.Errorf("%s %s has the finalizers %q, want %q", u.GetKind(), u.GetName(), have, want)
	}
}

func (b *bench) gone(o client.Object) {
	b.Helper()
	if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
		b.Errorf("%T %s is still there: %v", o, o.GetName(), err)
	}
}

// held counts the objects of a kind that have our finalizer.
func (b *bench) held(kind schema.GroupVersionKind) (n int) {
	b.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := b.admin.List(b.Context(), list); err != nil {
		b.Fatal(err)
	}
	for i := range list.Items {
		if slices.Contains(list.Items[i].Finalizers, ours) {
			n++
		}
	}
	return n
}

// installed makes what a service leaves that has handled these kinds and does
// not run any more.
func (b *bench) installed(kinds ...schema.GroupVersionKind) {
	b.Helper()
	var names []string
	for _, k := range kinds {
		names = append(names, k.Kind+"."+k.Version+"."+k.Group)
	}
	text, _ := json.Marshal(map[string]any{"handlers": map[string]any{}, "kinds": names})
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: b.namespace, Name: name} }
	objects := []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta(installation.Name), Data: map[string]string{"ledger.json": string(text)}},
		&coordinationv1.Lease{ObjectMeta: meta(installation.Name)},
		&corev1.ConfigMap{ObjectMeta: meta("of-somebody")},
		&corev1.Secret{ObjectMeta: meta("of-somebody")},
	}
	for _, name := range installation.Secrets() {
		objects = append(objects, &corev1.Secret{ObjectMeta: meta(name)})
	}
	for _, o := range objects {
		if err := b.admin.Create(b.Context(), o); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = b.admin.Delete(context.Background(), o) })
	}
	b.hooked()
}

func (b *bench) configurations() []client.Object {
	name := metav1.ObjectMeta{Name: installation.Name}
	return []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: name},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: name},
	}
}

// hooked makes the webhook configurations.
func (b *bench) hooked() {
	b.Helper()
	for _, c := range b.configurations() {
		if err := b.admin.Create(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = b.admin.Delete(context.Background(), c) })
	}
}

// own lists the names of what the service has in its namespace.
func (b *bench) own() (names []string) {
	b.Helper()
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &corev1.SecretList{}, &coordinationv1.LeaseList{}} {
		if err := b.admin.List(b.Context(), list, client.InNamespace(b.namespace)); err != nil {
			b.Fatal(err)
		}
		text, _ := json.Marshal(list)
		var read struct {
			Items []metav1.PartialObjectMetadata
		}
		_ = json.Unmarshal(text, &read)
		for i := range read.Items {
			if strings.HasPrefix(read.Items[i].Name, installation.Name) {
				names = append(names, fmt.Sprintf("%T %s", list, read.Items[i].Name))
			}
		}
	}
	return names
}

// set creates a set with the finalizer that those with handlers have.
func (b *bench) set(kind, name, resource string) *unstructured.Unstructured {
	b.Helper()
	gr := schema.ParseGroupResource(resource)
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"resource": map[string]any{"group": gr.Group, "version": "v1", "resource": gr.Resource},
		"handlers": []any{map[string]any{
			"id": "h", "causes": []any{"Create"}, "http": map[string]any{"url": "https://hook.example/"},
		}},
	}}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "dogear.dev", Version: "v1alpha1", Kind: kind})
	u.SetName(name)
	u.SetFinalizers([]string{sets.Cleanup})
	if kind == "HandlerSet" {
		u.SetNamespace(b.namespace)
	}
	b.create(u)
	return u
}

// uninstall runs as the administrator.
func (b *bench) uninstall(changes ...func(*Options)) (*Result, error) {
	b.Helper()
	return b.uninstallAs(b.Context(), b.cp.AdminConfig(), changes...)
}

func (b *bench) uninstallAs(ctx context.Context, config *rest.Config, changes ...func(*Options)) (*Result, error) {
	b.Helper()
	options := Options{Config: config, Namespace: b.namespace, Settle: time.Millisecond}
	for _, change := range changes {
		change(&options)
	}
	heard := options.Report
	var once sync.Mutex
	options.Report = func(e Event) {
		if !once.TryLock() {
			b.Error("events come at the same time")
		}
		defer once.Unlock()
		b.Log(e)
		if heard != nil {
			heard(e)
		}
	}
	result, err := Run(ctx, options)
	text, _ := json.Marshal(result)
	b.Logf("%v: %s", err, text)
	return result, err
}

// must runs to the end, with nothing left.
func (b *bench) must(changes ...func(*Options)) *Result {
	b.Helper()
	result, err := b.uninstall(changes...)
	if err != nil || !result.Done || len(result.Left) > 0 {
		b.Fatalf("it ended with %v, left %v", err, result.Left)
	}
	return result
}

func (r *Result) of(resource string) Resource {
	for _, at := range r.Resources {
		if at.Resource == resource {
			return at
		}
	}
	return Resource{}
}

// wire is a transport that a test looks into.
type wire struct {
	http.RoundTripper
	sent atomic.Int64
	// handle answers a request, or passes it on.
	handle func(number int64, req *http.Request, pass http.RoundTripper) (*http.Response, error)
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	return w.handle(w.sent.Add(1), req, w.RoundTripper)
}

// wired is the administrator's configuration with a transport to look into.
func (b *bench) wired(handle func(number int64, req *http.Request, pass http.RoundTripper) (*http.Response, error)) *rest.Config {
	config := b.cp.AdminConfig()
	w := &wire{handle: handle}
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper { w.RoundTripper = rt; return w })
	return config
}

// answer is one of the API server that it has not given.
func answer(req *http.Request, status *metav1.Status) *http.Response {
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	status.Status = metav1.StatusFailure
	text, _ := json.Marshal(status)
	return &http.Response{
		StatusCode: int(status.Code), Status: http.StatusText(int(status.Code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(string(text))), Request: req,
	}
}

func wantLeft(t testing.TB, have []Left, want ...string) {
	t.Helper()
	var texts []string
	for _, l := range have {
		texts = append(texts, l.String())
	}
	ok := len(texts) == len(want)
	for i := range want {
		ok = ok && strings.Contains(texts[i], want[i])
	}
	if !ok {
		t.Errorf("left is\n%s\nwant\n%s", strings.Join(texts, "\n"), strings.Join(want, "\n"))
	}
}

func wantText(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
