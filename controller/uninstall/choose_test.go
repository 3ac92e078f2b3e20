package uninstall

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// Without a ledger, the sets tell which kinds were handled.
func TestSetsTellTheKinds(t *testing.T) {
	b := newBench(t)
	b.many(strict, 2)
	b.many(widget, 2)
	b.set("ClusterHandlerSet", "stricts", "stricts.test.dogear.dev")
	b.set("HandlerSet", "widgets", "widgets.test.dogear.dev")
	b.set("HandlerSet", "unserved", "unknowns.example.com")
	result := b.must()
	if b.held(strict)+b.held(widget) > 0 {
		t.Errorf("%d and %d are held", b.held(strict), b.held(widget))
	}
	wantText(t, strings.Join(result.Notes, "\n"), "unknowns.example.com is not served any more")
	if strings.Contains(strings.Join(result.Notes, "\n"), "--all-resources") {
		t.Error("it is known what was handled")
	}
}

// With neither, all resources can be looked through: cluster-scoped ones, those
// of core kinds, and those in Dogear's own namespace.
func TestAllResources(t *testing.T) {
	b := newBench(t)
	objects := []*unstructured.Unstructured{b.object(strict, "a", ours), b.object(clusterWide, "b", ours), b.object(configMap, "c", ours), b.object(service, "d", ours, foreign)}
	b.create(objects...)
	space := &unstructured.Unstructured{}
	space.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	space.SetName(b.namespace + "-held")
	space.SetFinalizers([]string{ours})
	b.create(space)

	result := b.must(func(o *Options) { o.Namespace = "" })
	wantText(t, strings.Join(result.Notes, "\n"), "No Dogear is in the cluster", "run this with --all-resources")
	b.finalizers(objects[0], ours)

	result = b.must(func(o *Options) { o.Namespace, o.AllResources = "", true })
	for _, u := range objects[:3] {
		b.finalizers(u)
	}
	b.finalizers(objects[3], foreign)
	b.finalizers(space)
	if len(result.Resources) < 30 || result.of("namespaces").Released != 1 || result.of("services").Released != 1 {
		t.Errorf("got %+v", result.Resources)
	}
	for _, never := range []string{"componentstatuses", "bindings", "tokenreviews.authentication.k8s.io"} {
		if result.of(never).Resource != "" {
			t.Errorf("%s was looked through", never)
		}
	}
}

// A group whose server is gone: what cannot be looked at is left, if something
// of it was handled or all is asked for.
func TestAGroupThatDoesNotAnswer(t *testing.T) {
	b := newBench(t)
	silent := schema.GroupVersionKind{Group: "silent.example.com", Version: "v1", Kind: "Thing"}
	b.installed(strict, silent)
	b.many(strict, 1)
	api := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": silent.Group, "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
		"service": map[string]any{"namespace": b.namespace, "name": "nobody"},
	}}}
	api.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	api.SetName("v1.silent.example.com")
	b.create(api)
	rigtest.Eventually(t, settle, func() error {
		r, err := newRun(Options{Config: b.cp.AdminConfig()})
		if err != nil {
			return err
		}
		c, err := installation.ReadCatalog(t.Context(), r.Discovery)
		if err == nil && c.Silent[silent.Group] == "" {
			err = errors.New("the group is not listed yet")
		}
		return err
	})
	result, err := b.uninstall()
	if !errors.Is(err, ErrLeft) || b.held(strict) > 0 {
		t.Fatalf("got %v", err)
	}
	wantLeft(t, result.Left, "Thing.silent.example.com: the API server cannot tell whether it serves it: ")
	result, err = b.uninstall(func(o *Options) { o.AllResources = true })
	if !errors.Is(err, ErrLeft) {
		t.Fatalf("got %v", err)
	}
	wantLeft(t, result.Left, "*.silent.example.com: the API server cannot tell its resources: ", "Thing.silent.example.com: ")
	b.delete(api)
	rigtest.Eventually(t, settle, func() error {
		result, err := b.uninstall()
		if err == nil {
			wantText(t, strings.Join(result.Notes, "\n"), "Thing.silent.example.com is not served any more")
		}
		return err
	})
}

// A CRD that is being deleted waits for objects that only we hold.
func TestACRDInDeletion(t *testing.T) {
	b := newBench(t)
	crd := b.ruled("Ended")
	kind := strict
	kind.Kind = "Ended"
	b.installed(kind)
	objects := b.many(kind, 3)
	b.delete(crd)
	rigtest.Eventually(t, settle, func() error {
		if b.live(objects[0]).GetDeletionTimestamp() == nil {
			return errors.New("its objects are not in deletion yet")
		}
		return nil
	})
	result := b.must(func(o *Options) { o.AllResources = true })
	if result.Unfinished.Total != 3 {
		t.Errorf("got %+v", result.Unfinished)
	}
	rigtest.Eventually(t, settle, func() error {
		if err := b.admin.Get(t.Context(), client.ObjectKeyFromObject(crd), &apiextensionsv1.CustomResourceDefinition{}); err == nil {
			return errors.New("the CRD is still there")
		}
		return nil
	})
	b.made = nil
}

func TestALedgerThatCannotBeRead(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 1)
	ledger := &corev1.ConfigMap{}
	if err := b.admin.Get(t.Context(), client.ObjectKey{Namespace: b.namespace, Name: installation.Name}, ledger); err != nil {
		t.Fatal(err)
	}
	if err := b.admin.Patch(t.Context(), ledger, client.RawPatch(types.MergePatchType, []byte(`{"data":{"ledger.json":"{"}}`))); err != nil {
		t.Fatal(err)
	}
	if _, err := b.uninstall(); err == nil || !strings.Contains(err.Error(), "mend or delete it, or run this with --all-resources") || b.held(strict) != 1 {
		t.Errorf("got %v", err)
	}
	result := b.must(func(o *Options) { o.AllResources = true })
	wantText(t, strings.Join(result.Notes, "\n"), "The ledger cannot be read")
	if b.held(strict) > 0 || len(b.own()) > 0 {
		t.Errorf("%d are held, %q", b.held(strict), b.own())
	}
}

// Sets stay as data, and hold up neither their own deletion nor that of a
// namespace or of their CRD.
func TestSetsAreReleased(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	kept, deleted := b.set("HandlerSet", "kept", "stricts.test.dogear.dev"), b.set("ClusterHandlerSet", "deleted", "stricts.test.dogear.dev")
	guarded := b.set("HandlerSet", "guarded", "stricts.test.dogear.dev")
	guarded.SetFinalizers([]string{foreign, "dogear.dev/cleanup"})
	if err := b.admin.Update(t.Context(), guarded); err != nil {
		t.Fatal(err)
	}
	b.delete(deleted)
	result := b.must()
	b.finalizers(kept)
	b.finalizers(guarded, foreign)
	if b.live(deleted) != nil {
		t.Error("a set in deletion is still there")
	}
	if result.Unfinished.Total != 0 || result.of("handlersets.dogear.dev").Released != 2 || result.of("clusterhandlersets.dogear.dev").Released != 1 {
		t.Errorf("got %+v", result)
	}
}

// A set in deletion whose objects could not all be released stays, as nobody
// else may know of its kind.
func TestASetThatIsStillNeeded(t *testing.T) {
	b := newBench(t)
	b.many(widget, 1)
	set, other := b.set("ClusterHandlerSet", "needed", "widgets.test.dogear.dev"), b.set("ClusterHandlerSet", "not-deleted", "widgets.test.dogear.dev")
	b.delete(set)
	cluster := append(clusterRights[:len(clusterRights):len(clusterRights)], rule("test.dogear.dev", "widgets", nil, "get", "list"))
	result, err := b.uninstallAs(t.Context(), b.account(cluster, namespaceRights, nil))
	if !errors.Is(err, ErrLeft) {
		t.Fatalf("got %v", err)
	}
	wantLeft(t, result.Left, "clusterhandlersets.dogear.dev needed: it is being deleted, and objects of widgets.test.dogear.dev are left", "/widget-0000: rights are missing")
	b.finalizers(set, "dogear.dev/cleanup")
	b.finalizers(other)
	b.must()
	if b.live(set) != nil {
		t.Error("the set is still there")
	}
}

// A dry run tells what would be done, refusals included, and changes nothing.
func TestDryRun(t *testing.T) {
	b := newBench(t)
	crd := b.ruled("Dried")
	kind := strict
	kind.Kind = "Dried"
	b.installed(strict, kind)
	b.many(strict, 3)
	small := b.object(kind, "small", ours)
	_ = unstructured.SetNestedField(small.Object, int64(1), "spec", "size")
	marked := b.object(strict, "marked", ours)
	marked.SetAnnotations(map[string]string{"dogear.dev/state": "Succeeded"})
	b.create(small, marked)
	deleted := b.object(strict, "deleted", ours)
	b.create(deleted)
	b.delete(deleted)
	b.rule(crd, small, apiextensionsv1.ValidationRule{Rule: "self.spec.size > 5"})
	defer b.rule(crd, small)
	b.set("ClusterHandlerSet", "dried", "stricts.test.dogear.dev")
	d, pod := b.deployed(installation.ComponentController)
	b.lead("pod_1")
	before := b.versions(d, pod)
	var writes []string
	config := b.wired(func(_ int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodPatch && req.URL.Query().Get("dryRun") != "All" { // deletions say so in their body
			writes = append(writes, req.Method+" "+req.URL.String())
		}
		return pass.RoundTrip(req)
	})
	result, err := b.uninstallAs(t.Context(), config, func(o *Options) { o.DryRun, o.RemoveMarkers = true, true })
	if !errors.Is(err, ErrLeft) || !result.DryRun {
		t.Fatalf("got %v", err)
	}
	if after := b.versions(d, pod); strings.Join(after, "\n") != strings.Join(before, "\n") || len(writes) > 0 {
		t.Errorf("before\n%s\nafter\n%s\nwrites %q", strings.Join(before, "\n"), strings.Join(after, "\n"), writes)
	}
	wantLeft(t, result.Left, "drieds.test.dogear.dev "+b.namespace+"/small: the object as stored breaks a rule")
	if have := result.of("stricts.test.dogear.dev"); have.Released != 5 || have.Cleaned != 1 || result.Unfinished.Total != 1 {
		t.Errorf("got %+v, %+v", have, result.Unfinished)
	}
	if strings.Join(result.Stopped, " ") != b.namespace+"/my-controller" || len(result.Deleted) != 2 || result.of("clusterhandlersets.dogear.dev").Released != 1 {
		t.Errorf("got %+v", result)
	}
	wantText(t, strings.Join(result.Notes, "\n"), "is held by pod_1: it would be waited for")
}

// versions are the resource versions of all that a run might change.
func (b *bench) versions(more ...client.Object) (all []string) {
	b.Helper()
	objects := append(b.configurations(), more...)
	for _, u := range b.made {
		objects = append(objects, u)
	}
	for _, o := range objects {
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			b.Fatal(err)
		}
		all = append(all, o.GetName()+" "+o.GetResourceVersion())
	}
	return append(all, b.own()...)
}
