package service

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

const sdkDomain = "sdk.example.com"

// sdk runs an operator with a handler for the kind that does what answer does.
func (b *bench) sdk(gvk schema.GroupVersionKind, path string) {
	b.Helper()
	op, err := controller.New(controller.Options{
		Domain: sdkDomain, Config: b.account("sdk", handleAll), Namespace: b.namespace, Log: rigtest.Log(b.T),
	})
	if err != nil {
		b.Fatal(err)
	}
	spec := handler.Spec{
		ID: "myapp", Kind: gvk, On: handler.Create, Labels: "via=sdk", Namespaces: []string{b.namespace},
		Status: handler.StatusTarget{Path: path}, Retry: handler.Retry{Initial: time.Hour, Max: time.Hour},
	}
	handler.Register(op, spec, func(_ context.Context, r *handler.Request[*unstructured.Unstructured]) (handler.Result, error) {
		outcome := r.Object.GetLabels()["outcome"]
		r.Patch.SetLabel("patched", "yes")
		r.Patch.SetAnnotation("example.com/patched", outcome)
		if err := r.Patch.SetSpec(int64(7), sizeOf(gvk)); err != nil {
			return handler.Result{}, err
		}
		payload := map[string]any{"phase": outcome}
		switch v1alpha1.Outcome(outcome) {
		case v1alpha1.OutcomeWaiting:
			result := handler.Wait(time.Hour)
			result.Status, result.Reason = payload, "Why"
			return result, nil
		case v1alpha1.OutcomeRetrying:
			return handler.Result{}, handler.Temporary("because", handler.Reason("Why"), handler.After(time.Hour), handler.Status(payload))
		case v1alpha1.OutcomeFailed:
			return handler.Result{}, handler.Permanent("because", handler.Reason("Why"), handler.Status(payload))
		}
		return handler.Result{Status: payload}, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- op.Start(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Errorf("the operator ended with: %v", err)
		}
	})
}

// sizeOf is a number in the spec of a kind.
func sizeOf(gvk schema.GroupVersionKind) string {
	if gvk.Kind == "Certificate" {
		return "revisionHistoryLimit"
	}
	return "size"
}

// TestEveryOutcomeOverHTTPEqualsTheSDKs: state, reason, message, payload and
// its place, and what the patch has changed.
func TestEveryOutcomeOverHTTPEqualsTheSDKs(t *testing.T) {
	test := schema.GroupVersion{Group: "test.dogear.dev", Version: "v1"}
	for gvk, path := range map[schema.GroupVersionKind]string{
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}: "myapp",
		test.WithKind("Phased"): "myapp",
		test.WithKind("Nested"): "dogear.myapp",
		test.WithKind("Strict"): "myapp",
	} {
		t.Run(gvk.Kind, func(t *testing.T) {
			b := newBench(t)
			b.start()
			b.sdk(gvk, path)
			e := b.endpoint("hook", func(r *v1alpha1.HandlerReviewRequest) *v1alpha1.HandlerReviewResponse {
				outcome := v1alpha1.Outcome(objectOf(r).GetLabels()["outcome"])
				response := &v1alpha1.HandlerReviewResponse{
					Outcome: outcome, Status: json.RawMessage(fmt.Sprintf(`{"phase":%q}`, outcome)),
					Patch: &v1alpha1.HandlerReviewPatch{
						Labels: map[string]*string{"patched": new("yes")}, Annotations: map[string]*string{"example.com/patched": new(string(outcome))},
						Spec: map[string]json.RawMessage{sizeOf(gvk): json.RawMessage("7")},
					},
				}
				switch outcome {
				case v1alpha1.OutcomeSucceeded:
				case v1alpha1.OutcomeWaiting:
					response.Reason, response.After = "Why", &v1alpha1.Duration{Duration: time.Hour}
				default:
					response.Reason, response.Message, response.After = "Why", "because", &v1alpha1.Duration{Duration: time.Hour}
				}
				return response
			})
			s := b.set("outcomes", strings.ToLower(gvk.Kind)+"s.v1."+gvk.Group,
				"match: {labelSelector: {matchLabels: {via: http}}}\nhandlers:\n- {id: myapp, causes: [Create], status: {path: "+path+"}, "+never+", http: "+e.http()+"}\n")
			b.awaitReady(s)
			for _, outcome := range []v1alpha1.Outcome{v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeWaiting, v1alpha1.OutcomeRetrying, v1alpha1.OutcomeFailed} {
				over, sdk := b.outcomeObject(gvk, "http", string(outcome)), b.outcomeObject(gvk, "sdk", string(outcome))
				have := b.result(over, storage.ServicePrefix, "outcomes/myapp", string(outcome))
				prefix, err := storage.PrefixFor(sdkDomain)
				if err != nil {
					t.Fatal(err)
				}
				want := b.result(sdk, prefix, "myapp", string(outcome))
				if !reflect.DeepEqual(have, want) {
					t.Errorf("%s over HTTP:\n%v\nby the SDK:\n%v", outcome, have, want)
				}
				if have["payload"] == nil && have["status"] == nil || have["size"] != int64(7) {
					t.Errorf("%s: %v", outcome, have)
				}
			}
		})
	}
}

func (b *bench) outcomeObject(gvk schema.GroupVersionKind, via, outcome string) *unstructured.Unstructured {
	b.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	if gvk.Kind == "Certificate" {
		u.Object["spec"] = map[string]any{"secretName": "s", "dnsNames": []any{"a.example.com"}, "issuerRef": map[string]any{"name": "ca"}}
	}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(b.namespace)
	u.SetName(strings.ToLower(via + "-" + outcome))
	u.SetLabels(map[string]string{"via": via, "outcome": outcome})
	if err := b.admin.Create(b.Context(), u); err != nil {
		b.Fatal(err)
	}
	return u
}

// result is what an object shows of a handler's outcome, without times.
func (b *bench) result(u *unstructured.Unstructured, prefix storage.Prefix, id, state string) map[string]any {
	b.Helper()
	var fresh *unstructured.Unstructured
	b.eventually(func() error {
		if fresh = b.get(u); fresh.GetAnnotations()[prefix.Key(storage.KeyState)] != state {
			return fmt.Errorf("%s: %v, want %s", u.GetName(), fresh.GetAnnotations(), state)
		}
		return nil
	})
	m, err := prefix.Read(fresh.GetAnnotations())
	if err != nil {
		b.Fatal(err)
	}
	out := map[string]any{"status": fresh.Object["status"]}
	if r, ok := m.Record(id); ok {
		out["record"] = []any{r.Cause, r.State, r.Attempts, r.Reason, r.Message}
		if !r.Next.IsZero() {
			out["next"] = time.Until(r.Next).Round(10 * time.Minute)
		}
	}
	if payload := m.Status[id]; payload != nil {
		out["payload"] = string(payload)
	}
	_, out["handled"] = m.Entry(id)
	labels := fresh.GetLabels()
	delete(labels, "via")
	out["labels"] = labels
	annotations := fresh.GetAnnotations()
	maps.DeleteFunc(annotations, func(key, _ string) bool { return prefix.Owns(key) })
	out["annotations"] = annotations
	out["size"], _, _ = unstructured.NestedFieldNoCopy(fresh.Object, "spec", sizeOf(u.GroupVersionKind()))
	return out
}
