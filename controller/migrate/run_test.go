package migrate

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	rigtest.Main(m)
}

const (
	clusterSets = "clusterhandlersets.dogear.dev"
	settle      = 60 * time.Second
)

// bench is what a test has at hand. There are no CRDs at its start, and at its end.
type bench struct {
	*testing.T
	cp    *rig.ControlPlane
	admin client.Client
	crds  []*apiextensionsv1.CustomResourceDefinition
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, cp: rigtest.ControlPlane(t), admin: rigtest.Client(t)}
	crds, err := rig.DogearCRDs()
	if err != nil {
		t.Fatal(err)
	}
	b.crds = crds
	t.Cleanup(func() {
		for _, crd := range crds {
			if err := client.IgnoreNotFound(b.admin.Delete(context.Background(), crd)); err != nil {
				t.Error(err)
			}
		}
		deadline := time.Now().Add(settle)
		for _, crd := range crds {
			for b.admin.Get(context.Background(), client.ObjectKeyFromObject(crd), &apiextensionsv1.CustomResourceDefinition{}) == nil && time.Now().Before(deadline) {
				time.Sleep(25 * time.Millisecond)
			}
		}
	})
	return b
}

// install installs the CRDs as they are, or with a change of each.
func (b *bench) install(changes ...func(*apiextensionsv1.CustomResourceDefinition)) {
	b.Helper()
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range b.crds {
		crd = crd.DeepCopy()
		for _, change := range changes {
			change(crd)
		}
		crds = append(crds, crd)
	}
	if err := b.cp.InstallCRDs(b.Context(), crds...); err != nil {
		b.Fatal(err)
	}
}

// upgrade adds a version in which objects are stored from then on.
func upgrade(crd *apiextensionsv1.CustomResourceDefinition) {
	next := *crd.Spec.Versions[0].DeepCopy()
	next.Name = "v1alpha2"
	crd.Spec.Versions[0].Storage = false
	crd.Spec.Versions = append(crd.Spec.Versions, next)
}

// strict adds a rule that the set named small breaks.
func strict(crd *apiextensionsv1.CustomResourceDefinition) {
	for i := range crd.Spec.Versions {
		s := crd.Spec.Versions[i].Schema.OpenAPIV3Schema
		s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{Rule: "self.metadata.name != 'small'", Message: "secret sauce"})
	}
}

func set(kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"resource": map[string]any{"version": "v1", "resource": "services"},
		"defaults": map[string]any{"values": map[string]any{"spec": map[string]any{"x": name}}},
	}}}
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "dogear.dev", Version: "v1alpha1", Kind: kind})
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func (b *bench) create(sets ...*unstructured.Unstructured) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(16)
	for _, u := range sets {
		group.Go(func() error { return b.admin.Create(b.Context(), u) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// stored counts, by version, what etcd has of a resource.
func (b *bench) stored(resource string) map[string]int {
	b.Helper()
	key := "/registry/dogear.dev/" + resource + "/"
	body, _ := json.Marshal(map[string]any{
		"key":       base64.StdEncoding.EncodeToString([]byte(key)),
		"range_end": base64.StdEncoding.EncodeToString([]byte(key[:len(key)-1] + "0")), // "0" comes after "/"
	})
	answer, err := http.Post(b.cp.EtcdURL()+"/v3/kv/range", "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	var read struct {
		KVs []struct{ Value []byte }
	}
	if err := json.NewDecoder(answer.Body).Decode(&read); err != nil {
		b.Fatal(err)
	}
	counts := map[string]int{}
	for _, kv := range read.KVs {
		var object metav1.TypeMeta
		if err := json.Unmarshal(kv.Value, &object); err != nil {
			b.Fatal(err)
		}
		counts[strings.TrimPrefix(object.APIVersion, "dogear.dev/")]++
	}
	return counts
}

func (b *bench) storedVersions(want ...string) {
	b.Helper()
	for _, crd := range b.crds {
		fresh := &apiextensionsv1.CustomResourceDefinition{}
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(crd), fresh); err != nil {
			b.Fatal(err)
		}
		if !slices.Equal(fresh.Status.StoredVersions, want) {
			b.Errorf("%s says %q, want %q", crd.Name, fresh.Status.StoredVersions, want)
		}
	}
}

func (b *bench) migrate(config *rest.Config) (*Result, error) {
	b.Helper()
	result, err := Run(b.Context(), Options{Config: config, Report: func(text string) { b.Log(text) }})
	text, _ := json.Marshal(result)
	b.Logf("%v: %s", err, text)
	return result, err
}

func TestNothingToDo(t *testing.T) {
	b := newBench(t)
	result, err := b.migrate(b.cp.AdminConfig())
	if err != nil || !result.Done || len(result.CRDs) != 2 || !result.CRDs[0].Missing {
		t.Errorf("without the CRDs: %v, %+v", err, result)
	}
	b.install()
	result, err = b.migrate(b.cp.AdminConfig())
	if err != nil || !result.Done || result.CRDs[1].Missing || result.CRDs[1].Version != "v1alpha1" {
		t.Errorf("with one version: %v, %+v", err, result)
	}
}

// All objects are stored in the new version, also while others write them; then
// the old one can go.
func TestObjectsAreStoredInTheNewVersion(t *testing.T) {
	b := newBench(t)
	namespace := rigtest.Namespace(t)
	b.install()
	var sets []*unstructured.Unstructured
	for i := range 520 { // more than a page
		sets = append(sets, set("ClusterHandlerSet", "", fmt.Sprintf("set-%03d", i)))
	}
	b.create(append(sets, set("HandlerSet", namespace, "one"), set("HandlerSet", "default", "two"))...)
	b.install(upgrade)
	b.storedVersions("v1alpha1", "v1alpha2")
	generation := sets[0].GetGeneration()

	stop, edits := make(chan struct{}), sync.WaitGroup{}
	for _, u := range sets[500:504] {
		edits.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"n":"%d"}}}`, n))
				if err := b.admin.Patch(t.Context(), u.DeepCopy(), patch); err != nil {
					t.Error(err)
				}
				if n == 20 {
					return
				}
			}
		})
	}
	config, err := b.cp.ServiceAccountConfig(t.Context(), namespace, "migrate", rig.Rights{Cluster: rights})
	if err != nil {
		t.Fatal(err)
	}
	result, err := b.migrate(config)
	close(stop)
	edits.Wait()
	if err != nil || !result.Done || result.CRDs[0].Objects != 520 || result.CRDs[0].Rewritten < 510 || result.CRDs[1].Rewritten != 2 {
		t.Fatalf("got %v, %+v", err, result)
	}
	if have := b.stored("clusterhandlersets"); have["v1alpha2"] != 520 || len(have) != 1 {
		t.Errorf("etcd has %v", have)
	}
	if have := b.stored("handlersets"); have["v1alpha2"] != 2 || len(have) != 1 {
		t.Errorf("etcd has %v", have)
	}
	b.storedVersions("v1alpha2")
	fresh := sets[0].DeepCopy()
	if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(fresh), fresh); err != nil || fresh.GetGeneration() != generation {
		t.Errorf("generation %d became %d: %v", generation, fresh.GetGeneration(), err)
	}
	b.install(upgrade, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions = crd.Spec.Versions[1:] })
	if err := b.admin.Delete(t.Context(), set("HandlerSet", namespace, "one")); err == nil {
		t.Error("the old version is still served")
	}
}

// rights are those that the documentation lists.
var rights = []rbacv1.PolicyRule{
	{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, ResourceNames: CRDs(), Verbs: []string{"get"}},
	{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions/status"}, ResourceNames: CRDs(), Verbs: []string{"patch"}},
	{APIGroups: []string{"dogear.dev"}, Resources: []string{"clusterhandlersets", "handlersets"}, Verbs: []string{"get", "list", "patch"}},
}

// Each of them is needed; "get" of sets is once one was changed meanwhile.
func TestRights(t *testing.T) {
	b := newBench(t)
	namespace := rigtest.Namespace(t)
	b.install()
	b.create(set("ClusterHandlerSet", "", "one"))
	b.install(upgrade)
	for i, r := range rights {
		less := slices.Delete(slices.Clone(rights), i, i+1)
		config, err := b.cp.ServiceAccountConfig(t.Context(), namespace, fmt.Sprintf("less-%d", i), rig.Rights{Cluster: less})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.migrate(config); err == nil || !strings.Contains(err.Error(), r.Resources[0]) {
			t.Errorf("without %v: %v", r, err)
		}
		b.storedVersions("v1alpha1", "v1alpha2")
	}
}

// An object that cannot be written keeps the old version in the list.
func TestAnObjectThatIsRefused(t *testing.T) {
	b := newBench(t)
	b.install()
	b.create(set("ClusterHandlerSet", "", "small"), set("ClusterHandlerSet", "", "big"))
	b.install(upgrade, strict)
	result, err := b.migrate(b.cp.AdminConfig())
	if !errors.Is(err, ErrLeft) || result.Done || result.Error == "" {
		t.Fatalf("got %v", err)
	}
	want := Left{Name: "small", Reason: "the object as stored breaks a rule of its kind, so no change of it is taken: the object (FieldValueInvalid)"}
	if c := result.CRDs[0]; len(c.Left) != 1 || c.Left[0] != want || c.Rewritten != 1 || c.Name != clusterSets {
		t.Errorf("got %+v", c)
	}
	var text strings.Builder
	_ = result.WriteText(&text)
	if !strings.Contains(text.String(), clusterSets+": 1 of 2 objects were rewritten as v1alpha2\n  left: small: the object") || strings.Contains(text.String(), "sauce") {
		t.Errorf("got %s", &text)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.admin.Get(t.Context(), client.ObjectKey{Name: clusterSets}, crd); err != nil || len(crd.Status.StoredVersions) != 2 {
		t.Errorf("%v: %v", err, crd.Status.StoredVersions)
	}
	b.install(upgrade)
	if result, err := b.migrate(b.cp.AdminConfig()); err != nil || !result.Done {
		t.Errorf("got %v", err)
	}
	b.storedVersions("v1alpha2")
}

// A run that was killed after any of its requests is finished by another, and
// none is taken for done that is not.
func TestARunThatWasKilledIsFinishedByAnother(t *testing.T) {
	b := newBench(t)
	b.install()
	b.create(set("ClusterHandlerSet", "", "a"), set("ClusterHandlerSet", "", "b"), set("HandlerSet", "default", "c"))
	b.install(upgrade)
	for last := 1; ; last++ {
		if last > 100 {
			t.Fatal("it does not end")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		config, sent := b.cp.AdminConfig(), 0
		config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
			return transport(func(req *http.Request) (*http.Response, error) {
				if sent++; sent > last {
					cancel(errors.New("killed"))
					return nil, errors.New("killed")
				}
				return rt.RoundTrip(req)
			})
		})
		_, err := Run(ctx, Options{Config: config})
		cancel(nil)
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), "killed: not done yet") {
			t.Fatal(err)
		}
	}
	b.storedVersions("v1alpha2")
	if have := b.stored("clusterhandlersets"); have["v1alpha2"] != 2 || len(have) != 1 {
		t.Errorf("etcd has %v", have)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Answers that get lost are asked for again.
func TestAnswersThatGetLost(t *testing.T) {
	b := newBench(t)
	b.install()
	b.create(set("ClusterHandlerSet", "", "a"), set("ClusterHandlerSet", "", "b"))
	b.install(upgrade)
	config, sent := b.cp.AdminConfig(), 0
	config.Wrap(func(rt http.RoundTripper) http.RoundTripper {
		return transport(func(req *http.Request) (*http.Response, error) {
			if !strings.Contains(req.URL.Path, "clusterhandlersets") || strings.Contains(req.URL.Path, "customresource") {
				return rt.RoundTrip(req)
			}
			if sent++; sent%3 == 0 { // it is done, and nobody hears of it
				if answer, err := rt.RoundTrip(req); err == nil {
					_ = answer.Body.Close()
				}
			}
			if sent%3 != 1 {
				return nil, errors.New("broken pipe")
			}
			return rt.RoundTrip(req)
		})
	})
	if result, err := b.migrate(config); err != nil || !result.Done {
		t.Errorf("got %v", err)
	}
	if have := b.stored("clusterhandlersets"); have["v1alpha2"] != 2 || len(have) != 1 {
		t.Errorf("etcd has %v", have)
	}
}
