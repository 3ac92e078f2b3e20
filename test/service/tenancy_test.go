package service

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestAHandlerSetActsInItsOwnNamespace(t *testing.T) {
	b := newBench(t)
	b.start(func(o *setsOptions) { o.Settings.NamespacedResources = []string{"*.*", "configmaps"} })
	e := b.endpoint("hook", nil)
	handlers := "handlers:\n- {id: h, causes: [Create, Delete], http: " + e.local() + "}\n"
	s := b.namespaced("mine", "configmaps", handlers)
	b.awaitReady(s)
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: rigtest.Namespace(t), Name: "foreign"}}
	if err := b.admin.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	o := b.configMap("own", nil)
	b.await(o, "Succeeded")
	if m := b.marker(o); !m.Names(b.namespace + "/mine/h") {
		t.Errorf("marker %+v", m)
	}
	calls := e.calls()
	if len(calls) != 1 || calls[0].Handler.Namespace != b.namespace || calls[0].Handler.Set != "mine" {
		t.Errorf("calls %q", texts(calls))
	}
	if left := b.ours(b.unstructured(foreign)); len(left) > 0 {
		t.Errorf("another namespace: %v", left)
	}
	b.delete(s)
	b.eventually(func() error { return b.isGone(s) })
	if left := b.ours(o); len(left) > 0 || b.holds(o) {
		t.Errorf("left: %v", b.get(o))
	}
}

func TestWhatTheSettingsDoNotAllow(t *testing.T) {
	b := newBench(t)
	b.start()
	e := b.endpoint("hook", nil)
	handlers := "handlers:\n- {id: h, causes: [Create], http: " + e.local() + "}\n"
	core := b.namespaced("core", "configmaps", handlers)
	c := b.awaitCondition(core, v1alpha1.ConditionPermitted, metav1.ConditionFalse, "NotAllowed")
	wantText(t, c.Message, "configmaps", "namespacedResources")
	b.awaitCondition(core, v1alpha1.ConditionStalled, metav1.ConditionTrue, "NotAllowed")

	secrets := b.set("secrets", "secrets", "handlers:\n- {id: h, causes: [Create], http: "+e.http()+"}\n")
	wantText(t, b.awaitCondition(secrets, v1alpha1.ConditionPermitted, metav1.ConditionFalse, "NotAllowed").Message, "allowSecrets")

	far := b.set("far", "configmaps", "handlers:\n- {id: h, causes: [Create], http: {url: 'https://hooks.example.com/x'}}\n")
	c = b.awaitCondition(far, v1alpha1.ConditionPermitted, metav1.ConditionFalse, "URLNotAllowed")
	wantText(t, c.Message, `handler "h"`, "hooks.example.com", "urlPrefixes")
	if left := b.ours(b.configMap("object", nil)); len(left) > 0 || len(e.calls()) > 0 {
		t.Errorf("annotations %v, calls %q", left, texts(e.calls()))
	}
}

func TestSecretsAreHandledWithoutTheirValues(t *testing.T) {
	b := newBench(t)
	b.start(func(o *setsOptions) { o.Settings.AllowSecrets = true })
	closed, open := b.endpoint("closed", nil), b.endpoint("open", nil)
	b.awaitReady(b.set("closed", "secrets", "handlers:\n- {id: h, causes: [Create, Update], http: "+closed.http()+"}\n"))
	b.awaitReady(b.set("open", "secrets", "handlers:\n- {id: h, causes: [Create], status: {target: Annotation}, http: "+
		strings.TrimSuffix(open.http(), "}")+", includeSecretData: true}}\n"))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: "secret"}, Data: map[string][]byte{"password": []byte("geheim")}}
	if err := b.admin.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	u := b.unstructured(secret)
	b.await(u, "Succeeded")
	b.change(secret, func() { secret.Data["password"] = []byte("geheimer") })
	closed.awaitCalls(2)
	for _, call := range closed.calls() {
		text, _ := json.Marshal(call)
		if strings.Contains(string(text), "Z2Vo") || !strings.Contains(string(text), `"password":""`) {
			t.Errorf("the request has values: %s", text)
		}
	}
	if text := string(open.awaitCalls(1)[0].Object); !strings.Contains(text, "Z2VoZWlt") {
		t.Errorf("the request has no values: %s", text)
	}
	// Its own keys are nobody's.
	for _, e := range []*endpoint{closed, open} {
		for _, call := range e.calls() {
			if name := nameOf(call); strings.HasPrefix(name, "dogear.dev") {
				t.Errorf("%s was called for %s", e.name, name)
			}
		}
	}
}

func TestAURLMustBeAllowedAndLeadToAPublicAddress(t *testing.T) {
	b := newBench(t)
	e := b.endpoint("hook", nil)
	base := "https://" + e.server.Listener.Addr().String()
	allow := func(o *setsOptions) { o.Settings.URLPrefixes = []string{base + "/hooks"} }
	r := b.start(allow, func(o *setsOptions) { o.Settings.AllowLoopback = false })
	http := func(path string) string {
		return "handlers:\n- {id: h, causes: [Create], http: {url: '" + base + path + "', caBundle: " + e.bundle() + "}, retry: {initial: 100ms, max: 100ms}}\n"
	}
	s := b.set("url", "configmaps", http("/hooks/a"))
	b.awaitReady(s)
	b.awaitCondition(b.set("other", "configmaps", http("/hooksters")), v1alpha1.ConditionPermitted, metav1.ConditionFalse, "URLNotAllowed")
	o := b.configMap("object", nil)
	record := b.awaitRecord(o, "url/h", func(r storage.Record) bool { return r.State == storage.Waiting })
	wantText(t, record.Message, "loopback")
	if len(e.calls()) > 0 {
		t.Errorf("calls %q", texts(e.calls()))
	}
	r.stop()
	b.start(allow) // loopback is fine for tests
	b.awaitReady(s)
	e.awaitCalls(1)
}

func TestEndpointsThatLeadElsewhereAreRefused(t *testing.T) {
	b := newBench(t)
	b.start()
	target, e := b.endpoint("target", nil), b.endpoint("hook", nil)
	e.set(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://"+target.server.Listener.Addr().String()+"/x", http.StatusTemporaryRedirect)
	})
	for _, service := range []*corev1.Service{
		{ObjectMeta: metav1.ObjectMeta{Name: "external"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "metadata.example.com"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "headless"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 443}}}},
	} {
		service.Namespace = b.namespace
		if err := b.admin.Create(t.Context(), service); err != nil {
			t.Fatal(err)
		}
	}
	named := func(name string) string {
		return fmt.Sprintf("{service: {namespace: %s, name: %s}}", b.namespace, name)
	}
	retry := ", retry: {initial: 50ms, max: 50ms}}\n"
	s := b.set("elsewhere", "configmaps", "handlers:\n"+
		"- {id: redirected, causes: [Create], http: "+e.http()+retry+
		"- {id: external, causes: [Create], http: "+named("external")+retry+
		"- {id: headless, causes: [Create], http: "+named("headless")+retry+
		"- {id: nobody, causes: [Create], http: "+named("nobody")+retry)
	b.awaitReady(s)
	o := b.configMap("object", nil)
	for id, want := range map[string][]string{
		"redirected": {"Failed", "Redirected"}, "external": {"Waiting", "EndpointMissing", "ExternalName"},
		"headless": {"Waiting", "EndpointMissing", "headless"}, "nobody": {"Waiting", "EndpointMissing", "there is no Service"},
	} {
		r := b.awaitRecord(o, "elsewhere/"+id, func(r storage.Record) bool { return string(r.State) == want[0] })
		wantText(t, r.Reason+" "+r.Message, want[1:]...)
	}
	c := b.awaitCondition(s, v1alpha1.ConditionEndpointsHealthy, metav1.ConditionFalse, "EndpointDown")
	wantText(t, c.Message, `handler "external"`)
	if len(target.calls()) > 0 {
		t.Errorf("a redirect was followed: %q", texts(target.calls()))
	}
}

// TestTheMissingRightIsTold: with a ClusterRole to apply.
func TestTheMissingRightIsTold(t *testing.T) {
	b := newBench(t)
	b.start(func(o *setsOptions) { o.Config = b.account("dogear", handleNone) })
	e := b.endpoint("hook", nil)
	s := b.set("rightless", "phaseds.v1.test.dogear.dev", "handlers:\n- {id: myapp, causes: [Create], http: "+e.http()+"}\n")
	c := b.awaitCondition(s, v1alpha1.ConditionPermitted, metav1.ConditionFalse, "RightsMissing")
	b.awaitCondition(s, v1alpha1.ConditionReady, metav1.ConditionFalse, "RightsMissing")
	head, text, found := strings.Cut(c.Message, "\n")
	wantText(t, head, "phaseds.test.dogear.dev", "get, list, watch, patch", "status")
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict([]byte(text), role); err != nil || !found {
		t.Fatalf("%v: %s", err, c.Message)
	}
	if err := b.admin.Create(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	if role.Labels["dogear.dev/aggregate-to-controller"] != "true" {
		t.Errorf("labels %v", role.Labels)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: b.namespace},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: b.namespace, Name: "dogear"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	}
	if err := b.admin.Create(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	b.awaitReady(s)
	b.await(b.custom("Phased", "v1", "object"), "Succeeded")
}

// TestTheMissingRightToReadASecretIsTold: before any call needs it, with what
// to apply.
func TestTheMissingRightToReadASecretIsTold(t *testing.T) {
	b := newBench(t)
	hooks := rigtest.Namespace(t)
	rights := rights(b.namespace, handleAll...)
	for i, rule := range rights.Cluster {
		if len(rule.Resources) > 1 && rule.Resources[1] == "secrets" {
			rights.Cluster[i].Resources = []string{"services"}
		}
		if slices.Contains(rule.Resources, "configmaps") { // of handleAll
			rights.Cluster[i].Resources = []string{"configmaps"}
		}
	}
	account, err := b.cp.ServiceAccountConfig(t.Context(), b.namespace, "dogear", rights)
	if err != nil {
		t.Fatal(err)
	}
	b.start(func(o *setsOptions) { o.Config = account })
	e := b.endpoint("hook", nil)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: hooks, Name: "signing"},
		StringData: map[string]string{"key": "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))},
	}
	if err := b.admin.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	s := b.set("unreadable", "configmaps", "handlers:\n- {id: h, causes: [Create], http: "+
		strings.TrimSuffix(e.http(), "}")+", secretRef: {namespace: "+hooks+", name: signing}}}\n")
	c := b.awaitCondition(s, v1alpha1.ConditionEndpointsHealthy, metav1.ConditionFalse, "EndpointRightsMissing")
	head, text, _ := strings.Cut(c.Message, "\n")
	wantText(t, head, "secrets "+hooks+"/signing")
	for _, manifest := range strings.Split(text, "---\n") {
		b.apply(manifest)
	}
	b.awaitCondition(s, v1alpha1.ConditionEndpointsHealthy, metav1.ConditionTrue, "")
	b.await(b.configMap("object", nil), "Succeeded")
	if n := len(e.calls()); n != 1 {
		t.Errorf("%d calls", n)
	}
}
