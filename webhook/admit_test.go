package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

const testPrefix storage.Prefix = "dogear.test.example.com"

var (
	widget = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	secret = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
)

type registry []handler.Registration

func (r *registry) Add(h handler.Registration) { *r = append(*r, h) }

// admissionOf serves handlers, and functions for defaults, of Widgets and Secrets.
func admissionOf(t testing.TB, specs []handler.Spec, defaults ...func(*unstructured.Unstructured, handler.Admission) error) *Admission {
	t.Helper()
	var r registry
	for _, kind := range []schema.GroupVersionKind{widget, secret} {
		for _, spec := range specs {
			spec.Kind, spec.ID = kind, strings.ToLower(kind.Kind)+"/"+spec.ID
			handler.Register(&r, spec, func(context.Context, *handler.Request[*unstructured.Unstructured]) (handler.Result, error) {
				return handler.Result{}, nil
			})
		}
	}
	for _, fn := range defaults {
		handler.Defaults(&r, handler.Spec{ID: "defaults", On: handler.Create, Kind: widget}, fn)
	}
	sets, err := selection.Compile(r, runtime.NewScheme(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &Admission{Prefix: testPrefix, Own: []string{"system:serviceaccount:ns:operator"}}
	a.Declare(sets)
	return a
}

// admit sends a request and returns the object as it comes out, with what was
// decided. A second pass over the result must change nothing more.
func admit(t testing.TB, a *Admission, user, old, object string) (map[string]any, string) {
	t.Helper()
	out, decision := admitOnce(t, a, user, old, object)
	text, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := admitOnce(t, a, user, old, string(text)); !sameObject(again, out) {
		t.Errorf("a second pass changes the object again:\n%v\n%v", out, again)
	}
	return out, decision
}

func sameObject(a, b map[string]any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func admitOnce(t testing.TB, a *Admission, user, old, object string) (map[string]any, string) {
	t.Helper()
	var u unstructured.Unstructured
	if err := json.Unmarshal([]byte(object), &u.Object); err != nil {
		t.Fatal(err)
	}
	request := &admissionv1.AdmissionRequest{
		UID: "r", Operation: admissionv1.Create, Namespace: "ns", Name: u.GetName(),
		Kind: metav1.GroupVersionKind(u.GroupVersionKind()), Object: runtime.RawExtension{Raw: []byte(object)},
		UserInfo: authenticationv1.UserInfo{Username: user},
	}
	if old != "" {
		request.Operation, request.OldObject.Raw = admissionv1.Update, []byte(old)
	}
	answer := a.Admit(t.Context(), request)
	if !answer.Response.Allowed {
		t.Fatal("refused: admission must never do that")
	}
	result := []byte(object)
	if answer.Response.Patch != nil {
		patch, err := jsonpatch.DecodePatch(answer.Response.Patch)
		if err != nil {
			t.Fatal(err)
		}
		if result, err = patch.Apply(result); err != nil {
			t.Fatalf("the patch does not apply: %v\n%s", err, answer.Response.Patch)
		}
	}
	var out map[string]any
	if err := json.Unmarshal(result, &out); err != nil {
		t.Fatal(err)
	}
	return out, answer.Decision
}

func annotation(object map[string]any, name string) string {
	return (&unstructured.Unstructured{Object: object}).GetAnnotations()[testPrefix.Key(name)]
}

func body(kind, metadata, spec string) string {
	apiVersion := "example.com/v1"
	if kind == "Secret" {
		apiVersion = "v1"
	}
	return `{"apiVersion":"` + apiVersion + `","kind":"` + kind + `","metadata":{"namespace":"ns",` + metadata + `},"spec":` + spec + `}`
}

var create = []handler.Spec{{ID: "a", On: handler.Create | handler.Update | handler.Delete, Diff: true}}

func TestACreationIsStamped(t *testing.T) {
	t.Parallel()
	out, decision := admit(t, admissionOf(t, create), "alice", "", body("Widget", `"name":"w"`, `{"size":1}`))
	if decision != DecisionStamped || annotation(out, "state") != "Pending" {
		t.Errorf("decision %q, annotations %v", decision, out["metadata"])
	}
	progress := annotation(out, "progress")
	for _, want := range []string{`"by":"alice"`, `"cause":"Create"`, `"object":{"namespace":"ns","name":"w","kind":"Widget"}`} {
		if !strings.Contains(progress, want) {
			t.Errorf("progress %s lacks %s", progress, want)
		}
	}
	finalizers := (&unstructured.Unstructured{Object: out}).GetFinalizers()
	if len(finalizers) != 1 || finalizers[0] != testPrefix.Finalizer() {
		t.Errorf("finalizers %v", finalizers)
	}
}

func TestStateThatACreationBringsAlongIsDropped(t *testing.T) {
	t.Parallel()
	sent := `"name":"w","uid":"u1","finalizers":["example.com/other"],"annotations":{"mine":"1","dogear.test.example.com/paused":"true",` +
		`"dogear.test.example.com/handled":"{\"v\":1,\"uid\":\"u1\",\"essence\":\"x\",\"by\":{\"widget/a\":{}}}","dogear.test.example.com/retry":"*","dogear.other.com/state":"Failed"}`
	out, _ := admit(t, admissionOf(t, create), "alice", "", body("Widget", sent, `{"size":1}`))
	u := &unstructured.Unstructured{Object: out}
	if annotation(out, "handled") != "" || annotation(out, "retry") != "" || annotation(out, "state") != "Pending" {
		t.Errorf("annotations %v", u.GetAnnotations())
	}
	if annotation(out, "paused") != "true" || u.GetAnnotations()["mine"] != "1" || u.GetAnnotations()["dogear.other.com/state"] != "Failed" {
		t.Errorf("foreign annotations or the user's pause are lost: %v", u.GetAnnotations())
	}
}

func TestAnUpdateRestoresStateAndLeavesUsersTheirs(t *testing.T) {
	t.Parallel()
	a := admissionOf(t, create)
	old := body("Widget", `"name":"w","uid":"u1","finalizers":["dogear.test.example.com/finalizer"],"annotations":{"dogear.test.example.com/state":"Retrying","dogear.test.example.com/progress":"{\"v\":1,\"uid\":\"u1\",\"handlers\":{\"widget/a\":{\"cause\":\"Create\",\"state\":\"Retrying\",\"essence\":\"e\",\"attempts\":3}}}","dogear.test.example.com/paused":"true"}`, `{"size":1}`)
	wiped := body("Widget", `"name":"w","uid":"u1","annotations":{"dogear.test.example.com/retry":"*"}`, `{"size":1}`)
	out, decision := admit(t, a, "mallory", old, wiped)
	if annotation(out, "progress") == "" || annotation(out, "state") == "" || annotation(out, "retry") != "*" || annotation(out, "paused") != "" {
		t.Errorf("decision %q: %v", decision, out["metadata"])
	}
	if !strings.Contains(annotation(out, "progress"), `"attempts":3`) {
		t.Errorf("attempts are lost: %s", annotation(out, "progress"))
	}
	if f := (&unstructured.Unstructured{Object: out}).GetFinalizers(); len(f) != 1 {
		t.Errorf("the finalizer of a living object is not put back: %v", f)
	}
	if _, decision := admit(t, a, "mallory", old, old); decision != DecisionUnchanged {
		t.Errorf("a request that changes nothing: %q", decision)
	}
}

func TestADeletingObjectGetsNothingNew(t *testing.T) {
	t.Parallel()
	deleting := `"name":"w","uid":"u1","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["example.com/other"]`
	out, decision := admit(t, admissionOf(t, create), "alice", body("Widget", deleting, `{"size":1}`), body("Widget", deleting, `{"size":2}`))
	u := &unstructured.Unstructured{Object: out}
	if decision != DecisionUnchanged || len(u.GetFinalizers()) != 1 || len(u.GetAnnotations()) != 0 {
		t.Errorf("decision %q: %v", decision, out["metadata"])
	}
}

func TestAChangeKeepsTheBaseButNeverOfASecret(t *testing.T) {
	t.Parallel()
	a := admissionOf(t, create)
	for _, kind := range []string{"Widget", "Secret"} {
		before := body(kind, `"name":"w","uid":"u1","finalizers":["dogear.test.example.com/finalizer"]`, `{"size":1}`)
		var u unstructured.Unstructured
		if err := json.Unmarshal([]byte(before), &u.Object); err != nil {
			t.Fatal(err)
		}
		id := strings.ToLower(kind) + "/a"
		marker := storage.Marker{State: storage.Succeeded, Handled: &storage.Handled{
			Identity: storage.Identity{UID: "u1"}, Essence: storage.Rules{}.Digest(u.Object), By: map[string]storage.Entry{id: {}},
		}}
		u.SetAnnotations(testPrefix.Render(marker))
		old, _ := json.Marshal(u.Object)
		u.Object["spec"] = map[string]any{"size": int64(2)}
		changed, _ := json.Marshal(u.Object)
		out, decision := admit(t, a, "alice", string(old), string(changed))
		if decision != DecisionStamped || annotation(out, "state") != "Pending" || !strings.Contains(annotation(out, "progress"), `"cause":"Update"`) {
			t.Errorf("%s: decision %q: %v", kind, decision, out["metadata"])
		}
		if has := annotation(out, "base") != ""; has != (kind == "Widget") {
			t.Errorf("%s: base is there: %v", kind, has)
		}
	}
}

func TestDefaultsFillWhatIsAbsent(t *testing.T) {
	t.Parallel()
	a := admissionOf(t, create, func(u *unstructured.Unstructured, _ handler.Admission) error {
		return errors.Join(
			unstructured.SetNestedField(u.Object, int64(9), "spec", "size"),
			unstructured.SetNestedField(u.Object, "always", "spec", "policy", "rotation"))
	})
	out, _ := admit(t, a, "alice", "", body("Widget", `"name":"w"`, `{"size":1}`))
	spec, _ := out["spec"].(map[string]any)
	policy, _ := spec["policy"].(map[string]any)
	if spec["size"] != float64(1) || policy["rotation"] != "always" {
		t.Errorf("spec %v", spec)
	}
	failing := admissionOf(t, create, func(*unstructured.Unstructured, handler.Admission) error { panic("no") })
	if out, _ := admit(t, failing, "alice", "", body("Widget", `"name":"w"`, `{"size":1}`)); annotation(out, "state") != "Pending" {
		t.Error("a function for defaults that panics keeps the object from being stamped")
	}
}

func TestWritesOfTheControllerPass(t *testing.T) {
	t.Parallel()
	old := body("Widget", `"name":"w","uid":"u1","annotations":{"dogear.test.example.com/state":"Pending"}`, `{}`)
	out, decision := admitOnce(t, admissionOf(t, create), "system:serviceaccount:ns:operator", old, body("Widget", `"name":"w","uid":"u1"`, `{}`))
	if decision != DecisionOwn || annotation(out, "state") != "" {
		t.Errorf("decision %q: %v", decision, out)
	}
}

func TestAnObjectWithoutRoomIsAdmittedWithoutAStamp(t *testing.T) {
	t.Parallel()
	full := `"name":"w","annotations":{"mine":"` + strings.Repeat("x", storage.ServerLimit-4) + `"}`
	out, decision := admit(t, admissionOf(t, create), "alice", "", body("Widget", full, `{}`))
	if decision != DecisionNoRoom || annotation(out, "state") != "" {
		t.Errorf("decision %q", decision)
	}
	if f := (&unstructured.Unstructured{Object: out}).GetFinalizers(); len(f) != 1 {
		t.Errorf("the finalizer needs no annotation: %v", f)
	}
}

func TestARestorationNeverHasAUsersRequestRefused(t *testing.T) {
	t.Parallel()
	old := body("Widget", `"name":"w","uid":"u1","annotations":{"dogear.test.example.com/state":"Succeeded"}`, `{}`)
	full := body("Widget", `"name":"w","uid":"u1","annotations":{"mine":"`+strings.Repeat("x", storage.ServerLimit-4)+`"}`, `{}`)
	out, decision := admit(t, admissionOf(t, create), "alice", old, full)
	if size := storage.Size((&unstructured.Unstructured{Object: out}).GetAnnotations()); decision != DecisionNoRoom || size > storage.ServerLimit {
		t.Errorf("decision %q, %d bytes", decision, size)
	}
}

func FuzzAdmission(f *testing.F) {
	f.Add("", body("Widget", `"name":"w"`, `{"size":1}`))
	f.Add(body("Widget", `"name":"w","uid":"u1","annotations":{"dogear.test.example.com/handled":"{}"}`, `{"size":1}`), body("Widget", `"name":"w","uid":"u1"`, `{"size":2}`))
	f.Add(body("Secret", `"generateName":"s-"`, `{}`), `{"apiVersion":"v1","kind":"Secret","metadata":{"annotations":{"dogear.test.example.com/paused":"maybe"}}}`)
	f.Fuzz(func(t *testing.T, old, object string) {
		var u unstructured.Unstructured
		if json.Unmarshal([]byte(object), &u.Object) != nil || u.Object == nil {
			t.Skip("no object: the API server sends none such")
		}
		if old != "" && json.Unmarshal([]byte(old), new(map[string]any)) != nil {
			t.Skip("no object: the API server sends none such")
		}
		admitOnce(t, admissionOf(t, create), "alice", old, object)
	})
}

func BenchmarkAdmission(b *testing.B) {
	a := admissionOf(b, create)
	for name, old := range map[string]string{"create": "", "update": body("Widget", `"name":"w","uid":"u1"`, `{"size":1}`)} {
		object := body("Widget", `"name":"w","uid":"u1"`, `{"size":2}`)
		request := &admissionv1.AdmissionRequest{
			UID: "r", Operation: admissionv1.Create, Namespace: "ns", Name: "w",
			Kind: metav1.GroupVersionKind(widget), Object: runtime.RawExtension{Raw: []byte(object)},
		}
		if old != "" {
			request.Operation, request.OldObject.Raw = admissionv1.Update, []byte(old)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.Admit(b.Context(), request)
			}
		})
	}
}
