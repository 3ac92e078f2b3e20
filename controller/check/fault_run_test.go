package check_test

import (
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/check"
	"github.com/dogear-dev/dogear/controller/uninstall"
	"github.com/dogear-dev/dogear/test/rig"
)

// silentLeader: one that was killed has not given the Lease back.
func (c *cluster) silentLeader() {
	restore := edit(c, c.key("dogear.dev"), &coordinationv1.Lease{}, false, func(l *coordinationv1.Lease) {
		at := metav1.NewMicroTime(time.Now().Add(-time.Hour))
		l.Spec.HolderIdentity, l.Spec.RenewTime, l.Spec.AcquireTime = new("killed"), &at, &at
		l.Spec.LeaseDurationSeconds = new(int32(15))
	})
	c.want("controller", "leader", check.Failed, []string{"killed holds the Lease, but has not renewed it for 1h0m"})
	restore()
}

// clockAhead: that the clock of a laptop is wrong is no fault of the leader.
func (c *cluster) clockAhead() {
	ahead := func(o *check.Options) { o.Clock = patient{later{by: time.Hour}} }
	c.want("controller", "leader", check.OK, []string{"renewed just now; the clock of this machine is ahead of its by about"}, ahead)
}

// patient is a clock that has time.
type patient struct{ later }

func (patient) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (c *cluster) setNotReady() {
	s := c.set("missing", `
resource: {group: example.com, version: v1, resource: nothings}
handlers: [{id: h, causes: [Create], http: `+c.http()+`}]
`)
	c.want("controller", "sets", check.Failed, []string{"ClusterHandlerSet missing: NotServed", "is its CRD installed?"})
	c.want("controller", "sets", check.Warning, []string{"ClusterHandlerSet missing: NotServed"}, tolerant)
	c.drop(s)
}

// setNotLookedAt: that nobody has judged a set is no fault of the set.
func (c *cluster) setNotLookedAt() {
	s := c.set("unseen", `
resource: {version: v1, resource: configmaps}
handlers: [{id: h, causes: [Create], http: `+c.http()+`}]
`)
	c.want("controller", "sets", check.Failed, []string{"ClusterHandlerSet unseen: the controller has not looked at it"}, tolerant)
	s.Status.ObservedGeneration = s.Generation
	s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: uninstall.Uninstalled, LastTransitionTime: metav1.Now()}}
	c.must(c.admin.Status().Update(c.Context(), s))
	c.want("controller", "sets", check.Failed, []string{"ClusterHandlerSet unseen: the controller has not looked at it"}, tolerant)
	c.drop(s)
}

func (c *cluster) endpointDown() {
	s := c.set("lost", `
resource: {version: v1, resource: configmaps}
match: {labelSelector: {matchLabels: {lost: "yes"}}}
handlers: [{id: h, causes: [Create], http: {service: {namespace: `+c.shop+`, name: hook, port: 1}, plaintext: true}, retry: {initial: 10ms, max: 10ms}}]
paused: false
`)
	c.awaitReady(s)
	o := c.configMap("lost", "lost", nil)
	c.want("controller", "endpoints", check.Warning, []string{"ClusterHandlerSet lost: handler \"h\": down since"})
	c.drop(o, s)
	paused := c.set("paused", `
resource: {version: v1, resource: configmaps}
match: {labelSelector: {matchLabels: {paused: "yes"}}}
handlers: [{id: h, causes: [Create], http: `+c.http()+`}]
paused: true
`)
	c.want("controller", "warnings of sets", check.Warning, []string{"ClusterHandlerSet paused: it is paused"})
	c.drop(paused)
}

func (c *cluster) configMap(name, label string, annotations map[string]string) *corev1.ConfigMap {
	c.Helper()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.shop, Name: name, Labels: map[string]string{label: "yes"}, Annotations: annotations}}
	c.must(c.admin.Create(c.Context(), o))
	return o
}

func (c *cluster) stuckObject() {
	c.endpoint.answer(v1alpha1.OutcomeRetrying)
	o := c.certificate("stuck")
	c.must(c.admin.Delete(c.Context(), o))
	c.want("objects", "stuck finalizers", check.OK, nil)
	c.want("objects", "stuck finalizers", check.Failed,
		[]string{"1 object", "Certificate " + c.shop + "/stuck, in deletion for 11m", "handler certs/h is Retrying after", "NotYet the disk is not empty"}, in(11*time.Minute))
	c.want("objects", "stuck finalizers", check.Warning, []string{"handler certs/h is Retrying"}, in(11*time.Minute), tolerant)
	c.endpoint.answer(v1alpha1.OutcomeWaiting)
	c.want("objects", "stuck finalizers", check.Warning, []string{"handler certs/h is Waiting"}, in(11*time.Minute))
	c.endpoint.answer(v1alpha1.OutcomeSucceeded)
	c.must(client.IgnoreNotFound(c.admin.Patch(c.Context(), o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"dogear.dev/retry":"*"}}}`)))))
	c.drop(o)
}

// blockedObject: its annotations leave no room.
func (c *cluster) blockedObject() {
	s := c.set("full", `
resource: {version: v1, resource: configmaps}
match: {labelSelector: {matchLabels: {full: "yes"}}}
handlers: [{id: h, causes: [Create], http: `+c.http()+`}]
`)
	c.awaitReady(s)
	const filler = "example.com/filler"
	o := c.configMap("full", "full", map[string]string{filler: strings.Repeat("x", 262144-len(filler))})
	c.want("objects", "blocked", check.Failed, []string{"1 object", "ConfigMap " + c.shop + "/full: ", "make room in its annotations"})
	c.want("objects", "blocked", check.Warning, nil, tolerant)
	c.drop(o, s)
}

func (c *cluster) failedHandler() {
	c.endpoint.answer(v1alpha1.OutcomeFailed)
	o := c.certificate("failed")
	c.want("objects", "failed for good", check.Warning, []string{"on 1 object", "Certificate " + c.shop + "/failed: certs/h: NotYet: the disk is not empty", "kubectl -n NAMESPACE annotate KIND NAME dogear.dev/retry='*'"})
	c.endpoint.answer(v1alpha1.OutcomeSucceeded)
	c.drop(o)
}

// leftovers: a kind that was handled once, and that the controller may not touch
// any more.
func (c *cluster) leftovers() {
	ledger := `{"handlers":{},"kinds":["Certificate.v1.cert-manager.io","Strict.v1.test.dogear.dev","Gone.v1.example.com"]}`
	restore := edit(c, c.key("dogear.dev"), &corev1.ConfigMap{}, false, func(m *corev1.ConfigMap) { m.Data["ledger.json"] = ledger })
	o := c.apply(`{apiVersion: test.dogear.dev/v1, kind: Strict, metadata: {name: left, finalizers: [dogear.dev/finalizer]}, spec: {}}`)
	c.want("objects", "leftovers", check.Warning, []string{"1 object of kinds", "Strict " + c.shop + "/left", "dogear uninstall"})
	restore()
	c.must(c.admin.Patch(c.Context(), o, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
	c.drop(o)
}

// powerless: whoever may do nothing is told which rights are missing, and not
// that Dogear is broken.
func (c *cluster) powerless() {
	config, err := c.cp.ServiceAccountConfig(c.Context(), c.shop, "nobody", rig.Rights{})
	c.must(err)
	r := c.report(as(config), func(o *check.Options) { o.Namespace = c.namespace })
	if !r.OK() || r.Summary.Warnings > 0 || r.Summary.Skipped < 15 {
		c.Errorf("want no failure, and most skipped: %+v", r)
	}
	for _, group := range r.Groups {
		for _, k := range group.Checks {
			if k.Verdict == check.Skipped && (!strings.Contains(k.Message+strings.Join(k.Objects, ""), "cannot") || k.Hint == "") {
				c.Errorf("%s: %s does not say which right is missing, or what to do: %q, %q", group.Name, k.Name, k.Message, k.Hint)
			}
		}
	}
}

// samples: which object a dry run takes.
func (c *cluster) samples() {
	c.want("webhook", "stamps", check.OK, []string{"an object with what its schema asks for"})
	one := c.certificate("one")
	c.want("webhook", "stamps", check.OK, []string{"a copy of " + c.shop + "/one"})
	given := func(texts ...string) func(*check.Options) {
		return func(o *check.Options) {
			for _, text := range texts {
				o.Objects = append(o.Objects, parse(c, text))
			}
		}
	}
	c.want("webhook", "stamps", check.OK, []string{"the object that was given"},
		given(fmt.Sprintf(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: %s, name: mine}, spec: {secretName: tls, issuerRef: {name: ca}}}`, c.shop)))
	c.want("webhook", "stamps", check.Skipped, []string{"no set selects the object that was given"},
		given(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: mine}, spec: {secretName: tls, issuerRef: {name: ca}}}`))
	c.want("webhook", "stamps", check.Skipped, []string{"refused by the API server"},
		given(fmt.Sprintf(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: %s, name: mine}, spec: {secretName: tls}}`, c.shop)))

	// One of several will do; what is given in vain is told, beside what is found out.
	mine := fmt.Sprintf(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {namespace: %s, name: mine}, spec: {secretName: tls, issuerRef: {name: ca}}}`, c.shop)
	elsewhere := `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: elsewhere}, spec: {secretName: tls, issuerRef: {name: ca}}}`
	useless := `{apiVersion: v1, kind: ConfigMap, metadata: {name: useless}}`
	c.want("webhook", "stamps", check.OK, []string{"the object that was given"}, given(elsewhere, mine))
	vain := "ConfigMap useless, which was given: nothing declares a resource of this kind"
	c.want("webhook", "stamps", check.Warning, []string{"objects come back stamped; not tried: 1 object", "stamped (the object that was given)", vain}, given(mine, useless))
	c.want("webhook", "stamps", check.Warning, []string{"no object could be tried; not tried", "no set selects the object", vain}, given(elsewhere, useless))

	// Conditions and annotations choose, and what is given to one object alone is left out.
	picky := c.set("picky", `
resource: {version: v1, resource: configmaps}
match: {annotations: [{key: example.com/picky}], conditions: [{name: full, expression: "object.data.size() > 0"}]}
handlers: [{id: h, causes: [Update], http: `+c.http()+`}]
`)
	c.awaitReady(picky)
	c.want("webhook", "stamps", check.OK, []string{"configmaps: no object of it is selected by a set", "of 1 of 2 resources", "--object FILE"})
	o := c.configMap("picky", "picky", map[string]string{"example.com/picky": "very"})
	o.Data = map[string]string{"a": "b"}
	c.must(c.admin.Update(c.Context(), o))
	c.want("webhook", "stamps", check.OK, []string{"configmaps: stamped (a copy of " + c.shop + "/picky)"})
	c.drop(o, picky, one)
	c.nothingWasCreated()
}

// nothingWasCreated: a dry run is one.
func (c *cluster) nothingWasCreated() {
	for _, list := range []client.ObjectList{&corev1.ConfigMapList{}, &v1alpha1.HandlerSetList{}, certificates()} {
		c.must(c.admin.List(c.Context(), list))
		text := fmt.Sprintf("%+v", list)
		if strings.Contains(text, "dogear-check-") {
			c.Errorf("something was created: %s", text)
		}
	}
}

func certificates() *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("cert-manager.io/v1")
	list.SetKind("CertificateList")
	return list
}
