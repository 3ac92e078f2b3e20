package webhook

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
)

type defaultsFunc = func(*unstructured.Unstructured, handler.Admission) (*unstructured.Unstructured, error)

// defaulting serves functions for defaults of Widgets, in their order.
func defaulting(t *testing.T, on handler.Cause, fns ...defaultsFunc) *Admission {
	t.Helper()
	var all []handler.Registration
	for i, fn := range fns {
		all = append(all, handler.Registration{
			Spec: handler.Spec{ID: string(rune('a' + i)), On: on, Kind: widget}, Object: &unstructured.Unstructured{}, Defaults: fn,
		})
	}
	sets, err := selection.Compile(all, runtime.NewScheme(), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := &Admission{Prefix: testPrefix}
	a.Declare(sets)
	return a
}

// fills returns a function for defaults that sets fields of spec, and an error.
func fills(spec map[string]any, err error) defaultsFunc {
	return func(u *unstructured.Unstructured, _ handler.Admission) (*unstructured.Unstructured, error) {
		u = u.DeepCopy()
		handler.FillAbsent(u.Object, map[string]any{"spec": spec})
		return u, err
	}
}

func specOf(out map[string]any) string {
	text, _ := json.Marshal(out["spec"])
	return string(text)
}

func TestTheFirstOfSeveralDefaultsCounts(t *testing.T) {
	t.Parallel()
	seen := func(u *unstructured.Unstructured, _ handler.Admission) (*unstructured.Unstructured, error) {
		size, _, err := unstructured.NestedInt64(u.Object, "spec", "size")
		u = u.DeepCopy()
		handler.FillAbsent(u.Object, map[string]any{"spec": map[string]any{"seen": size}})
		return u, err
	}
	a := defaulting(t, handler.Create, fills(map[string]any{"size": int64(1)}, nil), fills(map[string]any{"size": int64(2), "more": true}, nil), seen)
	for _, metadata := range []string{`"name":"w"`, `"generateName":"w-"`} {
		out, decision := admit(t, a, "alice", "", body("Widget", metadata, `{}`))
		if got := specOf(out); got != `{"more":true,"seen":1,"size":1}` || decision != DecisionStamped {
			t.Errorf("%s: spec %s, %s", metadata, got, decision)
		}
	}
}

func TestDefaultsThatFailInPartAreSetAndCounted(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	panics := func(*unstructured.Unstructured, handler.Admission) (*unstructured.Unstructured, error) { panic("no") }
	nothing := func(*unstructured.Unstructured, handler.Admission) (*unstructured.Unstructured, error) {
		return nil, no
	}
	a := defaulting(t, handler.Create|handler.Update, panics, fills(map[string]any{"a": int64(1)}, no), nothing, fills(map[string]any{"b": int64(2)}, nil))
	object := body("Widget", `"name":"w","uid":"u1"`, `{}`)
	for _, old := range []string{"", object} {
		out, decision := admit(t, a, "alice", old, object)
		if got := specOf(out); got != `{"a":1,"b":2}` || decision != DecisionError {
			t.Errorf("spec %s, %s", got, decision)
		}
	}
}

func TestDefaultsAtUpdatesOnlyIfDeclared(t *testing.T) {
	t.Parallel()
	object := body("Widget", `"name":"w","uid":"u1"`, `{"size":1}`)
	deleting := body("Widget", `"name":"w","uid":"u1","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["a/b"]`, `{"size":1}`)
	for on, want := range map[handler.Cause]string{handler.Create: `{"size":1}`, handler.Create | handler.Update: `{"a":1,"size":1}`} {
		a := defaulting(t, on, fills(map[string]any{"a": int64(1)}, nil))
		if out, _ := admit(t, a, "alice", object, object); specOf(out) != want {
			t.Errorf("on %s: spec %s", on, specOf(out))
		}
		if out, _ := admit(t, a, "alice", deleting, deleting); specOf(out) != `{"size":1}` {
			t.Errorf("on %s, in deletion: spec %s", on, specOf(out))
		}
	}
}

// A null that was there is nothing that a default adds.
func TestANullThatStaysMakesNoPatch(t *testing.T) {
	t.Parallel()
	a := defaulting(t, handler.Create, fills(map[string]any{"size": int64(1), "deep": map[string]any{"a": int64(1)}}, nil))
	out, decision := admit(t, a, "alice", "", body("Widget", `"name":"w"`, `{"size":null,"deep":null,"other":null}`))
	if got := specOf(out); got != `{"deep":null,"other":null,"size":null}` || decision != DecisionUnchanged {
		t.Errorf("spec %s, %s", got, decision)
	}
}

func TestDefaultsAreToldWhoAsks(t *testing.T) {
	t.Parallel()
	var got handler.Admission
	a := defaulting(t, handler.Create, func(u *unstructured.Unstructured, asked handler.Admission) (*unstructured.Unstructured, error) {
		got = asked
		return u, nil
	})
	dry := true
	a.Admit(t.Context(), &admissionv1.AdmissionRequest{
		UID: "r", Operation: admissionv1.Create, Namespace: "ns", Name: "w", DryRun: &dry,
		Kind: metav1.GroupVersionKind(widget), Object: runtime.RawExtension{Raw: []byte(body("Widget", `"name":"w"`, `{}`))},
		UserInfo: authenticationv1.UserInfo{
			Username: "alice", UID: "u1", Groups: []string{"devs"}, Extra: map[string]authenticationv1.ExtraValue{"example.com/a": {"b"}},
		},
	})
	want := handler.Admission{
		Operation: handler.Create, User: "alice", UserUID: "u1", Groups: []string{"devs"}, Extra: map[string][]string{"example.com/a": {"b"}}, DryRun: true,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
