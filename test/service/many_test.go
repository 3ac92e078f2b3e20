package service

import (
	"fmt"
	"net/http"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig"
)

// configMaps creates n of them.
func (b *bench) configMaps(n int, labels func(int) map[string]string) []*unstructured.Unstructured {
	b.Helper()
	all := make([]*unstructured.Unstructured, n)
	var group errgroup.Group
	group.SetLimit(8)
	for i := range n {
		group.Go(func() error {
			c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: fmt.Sprintf("object-%03d", i), Labels: labels(i)}}
			if err := b.admin.Create(b.Context(), c); err != nil {
				return err
			}
			all[i] = b.unstructured(c)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	return all
}

func (b *bench) listConfigMaps() []corev1.ConfigMap {
	b.Helper()
	list := &corev1.ConfigMapList{}
	if err := b.admin.List(b.Context(), list, client.InNamespace(b.namespace), client.MatchingLabels{"many": "yes"}); err != nil {
		b.Fatal(err)
	}
	return list.Items
}

// TestADeadEndpointHoldsUpNobodyElse: it takes calls and never answers.
func TestADeadEndpointHoldsUpNobodyElse(t *testing.T) {
	const objects = 200
	b := newBench(t)
	b.start()
	dead, well := b.endpoint("dead", nil), b.endpoint("well", nil)
	dead.set(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	handlers := func(http string) string {
		return "match: {labelSelector: {matchLabels: {many: 'yes'}}}\nhandlers:\n- {id: h, causes: [Create], status: {target: Annotation}, http: " + http + "}\n"
	}
	a := b.set("a-dead", "configmaps", handlers(dead.http()[:len(dead.http())-1]+", timeout: 1s}"))
	s := b.set("b-well", "configmaps", handlers(well.http()))
	b.awaitReady(a)
	b.awaitReady(s)
	all := b.configMaps(objects, func(int) map[string]string { return map[string]string{"many": "yes"} })
	b.awaitCounts(s, func(c v1alpha1.Counts) bool { return c.Objects == objects && c.Pending+c.Waiting+c.Failing == 0 })
	if n := len(well.calls()); n != objects {
		t.Errorf("%d calls, want %d", n, objects)
	}
	c := b.awaitCondition(a, v1alpha1.ConditionEndpointsHealthy, metav1.ConditionFalse, "EndpointDown")
	wantText(t, c.Message, `handler "h": down since`)
	attempts, worst := 0, 0
	for _, o := range all {
		m := b.marker(o)
		if r, _ := m.Record("a-dead/h"); r.State.Finished() {
			t.Errorf("%s: %+v", o.GetName(), r)
		} else {
			attempts, worst = attempts+r.Attempts, max(worst, r.Attempts)
		}
	}
	if calls := len(dead.calls()); attempts > calls || attempts > 40 || worst > 3 {
		t.Errorf("%d attempts were used up on %d objects, %d on one, in %d calls", attempts, objects, worst, calls)
	}
	b.awaitReady(s)

	dead.set(nil)
	b.awaitCounts(a, func(c v1alpha1.Counts) bool { return c.Objects == objects && c.Pending+c.Waiting+c.Failing == 0 })
	b.awaitCondition(a, v1alpha1.ConditionEndpointsHealthy, metav1.ConditionTrue, "")
	if n := len(well.calls()); n != objects {
		t.Errorf("%d calls of the other set, want %d", n, objects)
	}
}

func TestTwoHundredSets(t *testing.T) {
	const sets = 200
	b := newBench(t)
	b.start()
	e := b.endpoint("hook", nil)
	before, err := b.cp.Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	declared := make([]*v1alpha1.ClusterHandlerSet, sets)
	spec := func(i, revision int) string {
		match := fmt.Sprintf("{labelSelector: {matchLabels: {number: 'n%d'}}}", i)
		if i%2 == 1 {
			match = fmt.Sprintf(`{conditions: [{name: number, expression: "object.metadata.labels.number == 'n%d'"}]}`, i)
		}
		return fmt.Sprintf("match: %s\nhandlers:\n- {id: h, causes: [Create], revision: %d, status: {target: Annotation}, http: %s}\n", match, revision, e.http())
	}
	var group errgroup.Group
	group.SetLimit(4)
	for i := range sets {
		group.Go(func() error { declared[i] = b.set(fmt.Sprintf("set-%03d", i), "configmaps", spec(i, 1)); return nil })
	}
	_ = group.Wait()
	for _, s := range declared {
		b.awaitReady(s)
	}
	t.Log("all are ready")
	now, err := b.cp.Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	written := now.Sub(before).Count(rig.Match{Verb: "PATCH", Group: "dogear.dev"})
	if written > 6*sets {
		t.Errorf("%d writes of %d sets", written, sets)
	}
	all := b.configMaps(sets, func(i int) map[string]string {
		return map[string]string{"many": "yes", "number": fmt.Sprintf("n%d", i)}
	})
	b.eventually(func() error {
		for _, c := range b.listConfigMaps() {
			if c.Annotations[storage.ServicePrefix.Key(storage.KeyState)] != "Succeeded" {
				return fmt.Errorf("%s: %v", c.Name, c.Annotations)
			}
		}
		return nil
	})
	t.Log("all are handled")
	if n := len(e.calls()); n != sets {
		t.Errorf("%d calls, want %d", n, sets)
	}
	versions := map[string]string{}
	for _, c := range b.listConfigMaps() {
		versions[c.Name] = c.ResourceVersion
	}
	b.edit(declared[7], spec(7, 2))
	e.awaitCalls(sets + 1)
	b.awaitReady(declared[7])
	b.eventually(func() error {
		if entry, ok := b.marker(all[7]).Entry("set-007/h"); !ok || entry.Revision != 2 {
			return fmt.Errorf("entry %+v (%v)", entry, ok)
		}
		return nil
	})
	for _, c := range b.listConfigMaps() {
		if changed := versions[c.Name] != c.ResourceVersion; changed != (c.Name == all[7].GetName()) {
			t.Errorf("%s: written: %v", c.Name, changed)
		}
	}
	if n := e.callsOf("h", all[7].GetName()); n != 2 || len(e.calls()) != sets+1 {
		t.Errorf("%d calls, %d of the edited set", len(e.calls()), n)
	}
	if err := b.admin.DeleteAllOf(t.Context(), &v1alpha1.ClusterHandlerSet{}); err != nil {
		t.Fatal(err)
	}
	b.eventually(func() error {
		list := &v1alpha1.ClusterHandlerSetList{}
		if err := b.admin.List(t.Context(), list); err != nil || len(list.Items) > 0 {
			return fmt.Errorf("%d sets are left: %w", len(list.Items), err)
		}
		return nil
	})
	t.Log("all are gone")
	for _, c := range b.listConfigMaps() {
		for key := range c.Annotations {
			if storage.ServicePrefix.Owns(key) {
				t.Errorf("left on %s: %s", c.Name, key)
			}
		}
	}
}

// TestASetThatSelectsEverything: all namespaces, those of the cluster included,
// but nothing of Dogear's own.
func TestASetThatSelectsEverything(t *testing.T) {
	b := newBench(t)
	b.start()
	system := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: b.namespace}}
	if err := b.admin.Create(t.Context(), system); err != nil {
		t.Fatal(err)
	}
	e := b.endpoint("hook", nil)
	all := "match: {namespaceSelector: {matchExpressions: []}}\nhandlers:\n- {id: h, causes: [Create, Update, Delete], http: " + e.http() + "}\n"
	s := b.set("everything", "configmaps", all)
	b.awaitReady(s)
	b.await(b.unstructured(system), "Succeeded")
	b.await(b.configMap("object", nil), "Succeeded")
	for _, call := range e.calls() {
		if u := objectOf(call); u.GetNamespace() == b.namespace && u.GetName() == "dogear.dev" {
			t.Error("it is called for the own ledger")
		}
	}

	other := b.set("other", "configmaps", all)
	b.awaitReady(other)
	c := b.awaitCondition(other, "StatusShared", metav1.ConditionTrue, "")
	wantText(t, c.Message, ".status.h", "ClusterHandlerSet everything", "status.path")
	b.awaitReady(s)
	o := b.configMap("both", nil)
	b.await(o, "Succeeded")
	if m := b.marker(o); !m.Names("everything/h") || !m.Names("other/h") {
		t.Errorf("marker %+v", m)
	}
	b.delete(system)
	b.eventually(func() error { return b.isGone(system) })
}
