package handler_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
)

// book takes registrations, as an operator does.
type book struct{ all []handler.Registration }

func (b *book) Add(r handler.Registration) { b.all = append(b.all, r) }

const certificate = `{
	"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
	"metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "generation": 7, "labels": {"app": "web"},
		"creationTimestamp": "2030-01-02T03:04:05Z", "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec":{}}}]},
	"spec": {"secretName": "web-tls", "dnsNames": ["a.example", "b.example"], "duration": "2160h0m0s", "revisionHistoryLimit": 3,
		"issuerRef": {"name": "ca"}, "privateKey": {"algorithm": "RSA", "size": 4096}, "unknownField": {"x": 1}},
	"status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2030-01-02T03:04:05Z"}], "revision": 2}}`

const service = `{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "uid": "u-2"},
	"spec": {"ports": [{"port": 443, "targetPort": "https"}, {"port": 80, "targetPort": 8080}], "selector": {"app": "web"}},
	"status": {"loadBalancer": {}}}`

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return u
}

// received runs a handler for T and returns the request that it got.
func received[T client.Object](t *testing.T, raw *handler.RawRequest) *handler.Request[T] {
	t.Helper()
	var got *handler.Request[T]
	var b book
	handler.Register(&b, handler.Spec{ID: "h", On: handler.Create}, func(_ context.Context, req *handler.Request[T]) (handler.Result, error) {
		got = req
		return handler.Result{}, nil
	})
	if _, err := b.all[0].Run(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAHandlerGetsACertificate(t *testing.T) {
	t.Parallel()
	got := received[*cmapi.Certificate](t, &handler.RawRequest{Object: parse(t, certificate)}).Object
	want := &cmapi.Certificate{}
	if err := json.Unmarshal([]byte(certificate), want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got.Kind != "Certificate" || got.Spec.Duration.Duration != 90*24*time.Hour || got.Spec.PrivateKey.Size != 4096 || *got.Status.Revision != 2 {
		t.Errorf("got %+v: want the kind and all fields", got)
	}
}

func TestAHandlerGetsAService(t *testing.T) {
	t.Parallel()
	got := received[*corev1.Service](t, &handler.RawRequest{Object: parse(t, service)}).Object
	if len(got.Spec.Ports) != 2 || got.Spec.Ports[0].TargetPort.StrVal != "https" || got.Spec.Ports[1].TargetPort.IntVal != 8080 || got.Spec.Selector["app"] != "web" {
		t.Errorf("got %+v", got.Spec)
	}
}

func TestAHandlerGetsUnstructured(t *testing.T) {
	t.Parallel()
	u := parse(t, certificate)
	got := received[*unstructured.Unstructured](t, &handler.RawRequest{Object: u}).Object
	if !reflect.DeepEqual(got, u) {
		t.Errorf("got  %v\nwant %v: unknown fields included", got, u)
	}
}

func TestAHandlerGetsMetadata(t *testing.T) {
	t.Parallel()
	got := received[*metav1.PartialObjectMetadata](t, &handler.RawRequest{Object: parse(t, certificate)}).Object
	if got.Name != "web" || got.Labels["app"] != "web" || got.GroupVersionKind().Kind != "Certificate" || got.Generation != 7 {
		t.Errorf("got %+v", got)
	}
}

// Free is a type with a part that has no schema.
type Free struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              map[string]any `json:"spec"`
}

func (f *Free) DeepCopyObject() runtime.Object { return f }

func TestTheObjectIsAPrivateCopy(t *testing.T) {
	t.Parallel()
	u := parse(t, certificate)
	before := u.DeepCopy()
	raw := &handler.RawRequest{Object: u, Old: u}
	free := received[*Free](t, raw)
	free.Object.Spec["issuerRef"].(object)["name"] = "changed"
	free.Old.Spec["issuerRef"].(object)["name"] = "changed"
	received[*unstructured.Unstructured](t, raw).Object.SetName("changed")
	typed := received[*cmapi.Certificate](t, raw).Object
	typed.Labels["app"] = "changed"
	typed.Spec.DNSNames[0] = "changed"
	if !reflect.DeepEqual(u, before) {
		t.Errorf("a handler's change has reached the operator's object:\n%v", u)
	}
}

func TestAnObjectThatDoesNotDecodeIsAPermanentFailure(t *testing.T) {
	t.Parallel()
	u := parse(t, `{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":"web"},"spec":{"dnsNames":"not a list"}}`)
	var b book
	handler.Register(&b, handler.Spec{ID: "h", On: handler.Create}, func(context.Context, *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
		t.Error("the handler ran")
		return handler.Result{}, nil
	}, handler.When(func(*cmapi.Certificate) bool { return true }))
	_, err := b.all[0].Run(t.Context(), &handler.RawRequest{Object: u})
	o := handler.Classify(handler.Result{}, err, handler.RetryError)
	if o.Kind != handler.Failed || o.Reason != handler.ReasonUndecodable || !strings.HasPrefix(o.Message, "the object does not decode as *v1.Certificate: ") {
		t.Errorf("got %+v: want a permanent %s that names the type", o, handler.ReasonUndecodable)
	}
	if _, err := b.all[0].Selects(u); !handler.IsPermanent(err) {
		t.Errorf("the predicate's error is %v: want a permanent one", err)
	}
}

func TestAnOldObjectThatDoesNotDecodeIsNotKnown(t *testing.T) {
	t.Parallel()
	old := parse(t, `{"apiVersion":"cert-manager.io/v1","kind":"Certificate","spec":{"dnsNames":"not a list"}}`)
	got := received[*cmapi.Certificate](t, &handler.RawRequest{Object: parse(t, certificate), Old: old, Changes: []handler.Change{{Path: "spec"}}})
	if got.Known || got.Old != nil || got.Changes != nil {
		t.Errorf("got %v, %v, %v: want nothing of the old object", got.Known, got.Old, got.Changes)
	}
}

func TestOldAndChangesAreKnownTogether(t *testing.T) {
	t.Parallel()
	old := parse(t, certificate)
	old.SetLabels(map[string]string{"app": "old"})
	changes := []handler.Change{{Path: "metadata.labels.app", Old: "old", New: "web"}}
	got := received[*cmapi.Certificate](t, &handler.RawRequest{Object: parse(t, certificate), Old: old, Changes: changes})
	if !got.Known || got.Old.Labels["app"] != "old" || !reflect.DeepEqual(got.Changes, changes) {
		t.Errorf("got %v, %+v, %v", got.Known, got.Old, got.Changes)
	}
	if got := received[*cmapi.Certificate](t, &handler.RawRequest{Object: parse(t, certificate)}); got.Known || got.Old != nil {
		t.Errorf("got %v, %v: want not known", got.Known, got.Old)
	}
}

func TestWhenSelectsByTheTypedObject(t *testing.T) {
	t.Parallel()
	var b book
	never := func(context.Context, *handler.Request[*cmapi.Certificate]) (handler.Result, error) {
		return handler.Result{}, errors.New("ran")
	}
	handler.Register(&b, handler.Spec{ID: "h"}, never, handler.When(func(c *cmapi.Certificate) bool { return len(c.Spec.DNSNames) > 1 }))
	u := parse(t, certificate)
	if ok, err := b.all[0].Selects(u); !ok || err != nil {
		t.Errorf("got %v, %v: want it selected", ok, err)
	}
	unstructured.RemoveNestedField(u.Object, "spec", "dnsNames")
	if ok, err := b.all[0].Selects(u); ok || err != nil {
		t.Errorf("got %v, %v: want it not selected", ok, err)
	}
}

func TestRegisterLeavesItToTheOperatorToRefuse(t *testing.T) {
	t.Parallel()
	var b book
	handler.Register[*cmapi.Certificate](&b, handler.Spec{}, nil)
	handler.Register(&b, handler.Spec{}, func(context.Context, *handler.Request[client.Object]) (handler.Result, error) {
		return handler.Result{}, nil
	})
	handler.Defaults[*cmapi.Certificate](&b, handler.Spec{}, nil)
	if b.all[0].Run != nil || b.all[2].Defaults != nil {
		t.Error("a nil function does not show as nil")
	}
	if b.all[1].Object != nil {
		t.Errorf("the object of a type that is none is %T: want nil", b.all[1].Object)
	}
}
