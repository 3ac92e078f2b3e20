package service

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
)

const refused = `
apiVersion: dogear.dev/v1alpha1
kind: ClusterHandlerSet
metadata: {name: refused-%d}
spec:
  resource: {group: %q, version: %s, resource: %s}
  match: %s
  handlers:
  - {id: h, causes: [Create], http: {service: {namespace: hooks, name: hook}}}
`

var refusals = []struct{ group, version, resource, match, why string }{
	{"dogear.dev", "v1alpha1", "handlersets", "{}", "a set would handle itself"},
	{"dogear.dev", "v1alpha1", "clusterhandlersets", "{}", "a set would handle itself"},
	{"coordination.k8s.io", "v1", "leases", "{}", "Dogear's own is among them"},
	{"", "v1", "events", "{}", "Dogear writes events"},
	{"events.k8s.io", "v1", "events", "{}", "Dogear writes events"},
	{"authorization.k8s.io", "v1", "subjectaccessreviews", "{}", "not stored"},
	{"", "v1", "configmaps", "{conditions: [{name: bad, expression: 'object.data.size() >'}]}", "match.conditions[0].expression"},
	{"", "v1", "configmaps", "{conditions: [{name: bad, expression: 'nothing == 1'}]}", "undeclared reference"},
	{"", "v1", "configmaps", "{labelSelector: {matchExpressions: [{key: tier, operator: Like, values: [a]}]}}", "not a valid selector operator"},
}

func (b *bench) tryRefused(i int) (string, error) {
	r := refusals[i]
	u, err := b.tryApply(fmt.Sprintf(refused, i, r.group, r.version, r.resource, r.match))
	return u.GetName(), err
}

func TestSetsThatCannotBeUsedAreRefusedAtApply(t *testing.T) {
	b := newBench(t)
	b.start()
	for i, r := range refusals {
		b.eventually(func() error { // the webhook's configuration takes a moment
			_, err := b.tryRefused(i)
			if err == nil {
				b.delete(&v1alpha1.ClusterHandlerSet{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("refused-%d", i)}})
				return fmt.Errorf("%s.%s was not refused", r.resource, r.group)
			}
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), r.why) {
				t.Errorf("%s.%s %s: %v", r.resource, r.group, r.match, err)
			}
			return nil
		})
	}
}

// TestSetsThatCannotBeUsedAreStalled: while the webhook is down they pass.
func TestSetsThatCannotBeUsedAreStalled(t *testing.T) {
	b := newBench(t)
	b.start(func(o *setsOptions) { o.Settings.Webhook = config.Webhook{} })
	e := b.endpoint("hook", nil)
	good := b.set("good", "configmaps", "handlers:\n- {id: h, causes: [Create], http: "+e.http()+"}\n")
	for i := range refusals {
		if _, err := b.tryRefused(i); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range refusals {
		s := &v1alpha1.ClusterHandlerSet{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("refused-%d", i), Generation: 1}}
		c := b.awaitCondition(s, v1alpha1.ConditionStalled, metav1.ConditionTrue, "")
		wantText(t, c.Message, r.why)
		if ready := b.awaitCondition(s, v1alpha1.ConditionReady, metav1.ConditionFalse, ""); ready.Message != c.Message {
			t.Errorf("ready: %q, stalled: %q", ready.Message, c.Message)
		}
	}
	b.awaitReady(good) // nobody is held up by them
	b.await(b.configMap("object", nil), "Succeeded")
}

func TestNamespacesAndConditionsSelect(t *testing.T) {
	b := newBench(t)
	b.start()
	e := b.endpoint("hook", nil)
	s := b.set("selecting", "configmaps", `
match:
  namespaceSelector: {matchLabels: {team: web-`+b.namespace+`}}
  conditions:
  - {name: big, expression: "has(object.data) && object.data.size == 'big'"}
  - {name: named, expression: "object.metadata.name != 'not-this'"}
handlers:
- {id: h, causes: [Create, Delete], http: `+e.http()+`}
`)
	b.awaitReady(s)
	configMap := func(name, size string) *corev1.ConfigMap {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name}, Data: map[string]string{"size": size}}
		if err := b.admin.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		return c
	}
	big, small, other := configMap("big", "big"), configMap("small", "small"), configMap("not-this", "big")
	b.change(small, func() { small.Labels = map[string]string{"touched": "yes"} })
	if left := b.ours(b.unstructured(big)); len(left) > 0 {
		t.Errorf("handled before its namespace is selected: %v", left)
	}
	label := func(value string) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.namespace}}
		b.change(namespace, func() {
			if namespace.Labels["team"] = value; value == "" {
				delete(namespace.Labels, "team")
			}
		})
	}
	label("web-" + b.namespace)
	b.await(b.unstructured(big), "Succeeded")
	b.change(small, func() { small.Data["size"] = "big" }) // selected by its own change
	b.await(b.unstructured(small), "Succeeded")
	if left := b.ours(b.unstructured(other)); len(left) > 0 {
		t.Errorf("a condition that does not hold selects: %v", left)
	}
	label("")
	b.eventually(func() error {
		if b.holds(b.unstructured(big)) {
			return fmt.Errorf("%s is held, though its namespace is not selected any more", big.Name)
		}
		return nil
	})
	if calls := e.calls(); len(calls) != 2 {
		t.Errorf("calls %q", texts(calls))
	}
}
