package service

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets"
)

// Defaults need no handler and no right; sets count in the order of their names.
func TestDefaultsAreFilledInWithoutHandlers(t *testing.T) {
	b := newBench(t)
	b.start()
	second := b.set("b-second", "certificates.v1.cert-manager.io", `
defaults:
  values: {spec: {privateKey: {algorithm: RSA, size: 4096}}}
`)
	first := b.set("a-first", "certificates.v1.cert-manager.io", `
defaults:
  values: {spec: {privateKey: {algorithm: ECDSA}}, metadata: {labels: {tier: low}}}
  computed: [{path: spec.secretName, expression: object.metadata.name + '-' + namespaceObject.metadata.name}]
`)
	b.awaitReady(first)
	b.awaitReady(second)
	u := b.apply(`
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: one, labels: {tier: high}}
spec: {dnsNames: [one.example.com], issuerRef: {name: ca}}
`)
	key, _, _ := unstructured.NestedMap(u.Object, "spec", "privateKey")
	name, _, _ := unstructured.NestedString(u.Object, "spec", "secretName")
	if key["algorithm"] != "ECDSA" || key["size"] != int64(4096) || name != "one-"+b.namespace || u.GetLabels()["tier"] != "high" {
		t.Errorf("key %v, secretName %q, labels %v", key, name, u.GetLabels())
	}
	if len(u.GetAnnotations()) > 0 {
		t.Errorf("stamped, though there is no handler: %v", u.GetAnnotations())
	}
}

// What the API server would drop or refuse is reported on the set, and users
// don't suffer from it.
func TestDefaultsAreJudgedByTheSchema(t *testing.T) {
	b := newBench(t)
	b.start()
	dropped := b.set("dropped", "certificates.v1.cert-manager.io", "defaults: {values: {spec: {secretName: s, notThere: 1}}}")
	b.awaitReady(dropped)
	if c := b.awaitCondition(dropped, v1alpha1.ConditionDefaultsValid, metav1.ConditionFalse, "Dropped"); !strings.Contains(c.Message, "spec.notThere") {
		t.Errorf("message %q", c.Message)
	}
	refused := b.set("refused", "certificates.v1.cert-manager.io", "defaults: {values: {spec: {privateKey: {algorithm: Enigma}}}}")
	c := b.awaitCondition(refused, v1alpha1.ConditionReady, metav1.ConditionFalse, "Refused")
	if !strings.Contains(c.Message, "spec.privateKey.algorithm") {
		t.Errorf("message %q", c.Message)
	}
	u := b.certificate("one")
	if _, found, _ := unstructured.NestedMap(u.Object, "spec", "privateKey"); found {
		t.Errorf("a default was filled in that the API server refuses: %v", u.Object)
	}
}

func TestDefaultsNeedAWebhook(t *testing.T) {
	b := newBench(t)
	b.start(func(o *sets.Options) { o.Settings.Webhook = config.Webhook{} })
	s := b.set("defaults", "certificates.v1.cert-manager.io", "defaults: {values: {spec: {secretName: s}}}")
	b.awaitCondition(s, v1alpha1.ConditionReady, metav1.ConditionFalse, "NoWebhook")
}
