package uninstall

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// working is a set as a controller has left it that had it in force.
func (b *bench) working(kind, name, resource string) *unstructured.Unstructured {
	b.Helper()
	u := b.set(kind, name, resource)
	const status = `{"status":{"observedGeneration":1,"objects":3,"handlers":[{"id":"h","phase":"Active","objects":3}],"conditions":[
		{"type":"Ready","status":"True","reason":"InForce","message":"the set is in force","lastTransitionTime":"2020-01-01T00:00:00Z"},
		{"type":"EndpointsHealthy","status":"True","reason":"Answering","message":"no endpoint is down","lastTransitionTime":"2020-01-01T00:00:00Z"}]}}`
	if err := b.admin.Status().Patch(b.Context(), u, client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
		b.Fatal(err)
	}
	return u
}

// condition is the only one of a set, in short.
func (b *bench) condition(u *unstructured.Unstructured) string {
	b.Helper()
	fresh := b.live(u)
	conditions, _, _ := unstructured.NestedSlice(fresh.Object, "status", "conditions")
	if len(conditions) != 1 {
		b.Errorf("conditions of %s: %v", u.GetName(), conditions)
		return ""
	}
	c := conditions[0].(map[string]any)
	return c["type"].(string) + " " + c["status"].(string) + " " + c["reason"].(string)
}

// Sets that stay do not go on to say that they are in force, nor that handlers are on
// objects, which an installation that comes later would take for true.
func TestSetsSayThatNothingIsInForce(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	sets := []*unstructured.Unstructured{
		b.working("ClusterHandlerSet", "cluster", "stricts.test.dogear.dev"), b.working("HandlerSet", "namespaced", "stricts.test.dogear.dev"),
	}
	fresh, ending := b.set("HandlerSet", "fresh", "stricts.test.dogear.dev"), b.working("HandlerSet", "ending", "stricts.test.dogear.dev")
	b.delete(ending)
	b.must(func(o *Options) { o.DryRun = true })
	if conditions, _, _ := unstructured.NestedSlice(b.live(sets[0]).Object, "status", "conditions"); len(conditions) != 2 {
		t.Errorf("a dry run left %v", conditions)
	}
	config := b.account(append(slices.Clone(clusterRights), rule("dogear.dev", "clusterhandlersets/status", nil, "patch"), rule("dogear.dev", "handlersets/status", nil, "patch")), namespaceRights, nil)
	if result, err := b.uninstallAs(t.Context(), config); err != nil || len(result.Notes) > 0 {
		t.Fatalf("got %v, %v", err, result.Notes)
	}
	var versions []string
	for _, u := range sets {
		if have := b.condition(u); have != "Ready Unknown Uninstalled" {
			t.Errorf("%s: %s", u.GetName(), have)
		}
		if handlers, _, _ := unstructured.NestedSlice(b.live(u).Object, "status", "handlers"); len(handlers) > 0 {
			t.Errorf("%s: handlers %v", u.GetName(), handlers)
		}
		versions = append(versions, b.live(u).GetResourceVersion())
	}
	if status := b.live(fresh).Object["status"]; status != nil || b.live(ending) != nil {
		t.Errorf("got %v, %v", status, b.live(ending))
	}
	b.must()
	for i, u := range sets {
		if b.live(u).GetResourceVersion() != versions[i] {
			t.Errorf("the second run wrote %s", u.GetName())
		}
	}
}

// Without the rights that is a note; while objects are left, the handlers stay, by
// which the next run knows of them.
func TestSetsThatCannotBeToldOfTheEnd(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(widget, 1)
	set, needed := b.working("ClusterHandlerSet", "set", "stricts.test.dogear.dev"), b.working("ClusterHandlerSet", "needed", "widgets.test.dogear.dev")
	looks := append(slices.Clone(clusterRights), rule("test.dogear.dev", "widgets", nil, "list"))
	result, err := b.uninstallAs(t.Context(), b.account(looks, namespaceRights, nil))
	if !errors.Is(err, ErrLeft) {
		t.Fatal(err)
	}
	wantText(t, strings.Join(result.Notes, "\n"), `The status of 2 sets still says what it was before, as it cannot be written: rights are missing: user `)
	looks = append(looks, rule("dogear.dev", "clusterhandlersets/status", nil, "patch"))
	if _, err := b.uninstallAs(t.Context(), b.account(looks, namespaceRights, nil)); !errors.Is(err, ErrLeft) {
		t.Fatal(err)
	}
	for u, want := range map[*unstructured.Unstructured]int{set: 0, needed: 1} {
		if have, _, _ := unstructured.NestedSlice(b.live(u).Object, "status", "handlers"); len(have) != want || b.condition(u) != "Ready Unknown Uninstalled" {
			t.Errorf("%s: %v", u.GetName(), have)
		}
	}
	b.must()
}
