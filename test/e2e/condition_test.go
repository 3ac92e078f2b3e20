package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/handler"
)

// condition is one as owners write it.
func condition(kind, status, reason, message string, generation int) fields {
	return fields{
		"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": generation,
		"lastTransitionTime": time.Unix(int64(1_700_000_000+generation), 0).UTC().Format(time.RFC3339),
	}
}

// conditionOf finds a condition of an object.
func conditionOf(u *unstructured.Unstructured, kind string) fields {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(fields); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

// conditionKinds are those with a map list of conditions.
var conditionKinds = []string{"Certificate", "Phased", "Strict"}

func (b *bench) conditioned(kind, name string) *unstructured.Unstructured {
	b.Helper()
	if kind == "Certificate" {
		return b.object(certificateKind, name, kinds[0].body)
	}
	return b.object(testKind(kind), name, `{"spec":{"size":1}}`)
}

// A handler that watches Ready runs when it turns True and when it turns
// False, and for nothing else that the owner, or Dogear, writes to status.
func TestConditionWakesTheHandlerThatWatchesIt(t *testing.T) {
	t.Parallel()
	for _, kind := range conditionKinds {
		for _, webhook := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/webhook=%v", kind, webhook), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				u := b.conditioned(kind, "one")
				var list, field calls
				register := func(r handler.Registry) {
					for id, seen := range map[string]*calls{"list": &list, "field": &field} {
						spec := b.spec(u.GroupVersionKind(), id, handler.Create|handler.Update)
						spec.Fields = []string{"status.conditions"}
						if id == "field" {
							spec.Fields = []string{"status.conditions[type=Ready].status"}
						}
						spec.Status.Condition = "Own-" + id
						if kind == "Phased" {
							spec.Status.Path = "myapp"
						}
						handler.Register(r, spec, func(_ context.Context, req *request) (handler.Result, error) {
							return handler.Result{Status: fields{"phase": fmt.Sprint(seen.add(req.Info))}}, nil
						})
					}
				}
				if webhook {
					b.start(register, b.withWebhook())
					b.awaitWebhook(u)
				} else {
					b.start(register)
				}
				b.create(u)
				both := func(n, m int) {
					t.Helper()
					b.awaitCalls(&list, n)
					b.awaitCalls(&field, m)
					b.await(u, "Succeeded")
				}
				both(1, 1)
				b.apply(u, "owner", fields{"conditions": []any{condition("Ready", "False", "Issuing", "", 1)}})
				both(2, 2)
				b.apply(u, "owner", fields{"conditions": []any{condition("Ready", "True", "Issued", "", 1)}})
				both(3, 3)
				for i := 2; i < 5; i++ {
					churn := fields{"conditions": []any{condition("Ready", "True", "Issued", fmt.Sprint("still fine ", i), i)}}
					switch kind {
					case "Certificate":
						churn["revision"], churn["notAfter"] = i, "2030-01-01T00:00:00Z"
					case "Strict":
						churn["observedGeneration"] = i
					}
					b.apply(u, "owner", churn)
				}
				b.stays(u, &list, 3)
				both(3, 3)
				b.apply(u, "owner", fields{"conditions": []any{condition("Ready", "True", "Renewed", "", 5)}})
				both(4, 3)
				b.apply(u, "owner", fields{"conditions": []any{condition("Ready", "False", "Renewed", "", 6)}})
				both(5, 4)
				b.stays(u, &list, 5)
				both(5, 4)
				for _, seen := range []*calls{&list, &field} {
					for i, info := range seen.all() {
						if want := map[bool]handler.Cause{true: handler.Create, false: handler.Update}[i == 0]; info.Cause != want {
							t.Errorf("call %d of %s as %s, want %s", i+1, info.HandlerID, info.Cause, want)
						}
					}
				}
				u = b.get(u)
				for _, own := range []string{"Own-list", "Own-field"} {
					if c := conditionOf(u, own); c["status"] != "True" || c["reason"] != "Succeeded" {
						t.Errorf("condition %s is %v", own, c)
					}
				}
				if c := conditionOf(u, "Ready"); !same(c, condition("Ready", "False", "Renewed", "", 6)) {
					t.Errorf("the owner's condition is %v", c)
				}
			})
		}
	}
}

// The condition of a handler says how it stands, and its time is that of the
// last change of its status.
func TestConditionSaysHowTheHandlerStands(t *testing.T) {
	t.Parallel()
	for _, kind := range conditionKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			u := b.conditioned(kind, "one")
			spec := b.spec(u.GroupVersionKind(), "myapp", handler.Create|handler.Update)
			spec.Status.Condition = "Provisioned"
			var answers gateOf
			b.start(one(spec, func(context.Context, *request) (handler.Result, error) { return answers.next() }))
			answers.set(handler.Result{}, handler.Temporary("no quota", handler.After(soon), handler.Reason("Quota exceeded!"), handler.Status(fields{"phase": "Pending"})))
			b.create(u)
			shows := func(status, reason, message string) fields {
				t.Helper()
				var c fields
				b.eventually(func() error {
					c = conditionOf(b.get(u), "Provisioned")
					if c["status"] != status || c["reason"] != reason || c["message"] != message {
						return fmt.Errorf("the condition is %v, want %s, %s, %q; %s", c, status, reason, message, b.ours(b.get(u)))
					}
					return nil
				})
				if _, err := time.Parse(time.RFC3339, fmt.Sprint(c["lastTransitionTime"])); err != nil {
					t.Error(err)
				}
				return c
			}
			first := shows("Unknown", "Retrying", "no quota") // the handler's word is none for a condition
			answers.set(handler.Result{}, handler.Temporary("no issuer", handler.After(soon), handler.Reason("NoIssuer")))
			if second := shows("Unknown", "NoIssuer", "no issuer"); second["lastTransitionTime"] != first["lastTransitionTime"] {
				t.Errorf("the time changed without a change of status: %v, %v", first, second)
			}
			answers.set(handler.Wait(soon), nil)
			shows("Unknown", "Waiting", "")
			answers.set(handler.Result{Status: fields{"phase": "Ready"}}, nil)
			shows("True", "Succeeded", "")
			answers.set(handler.Result{}, handler.Permanent("it is broken", handler.Reason("Broken")))
			b.patch(u, `{"metadata":{"labels":{"step":"2"}}}`)
			shows("False", "Broken", "it is broken")
			b.await(u, "Failed")
		})
	}
}

// gateOf holds the answer of a handler that a test sets.
type gateOf struct {
	mu     sync.Mutex
	result handler.Result
	err    error
}

func (g *gateOf) set(r handler.Result, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.result, g.err = r, err
}

func (g *gateOf) next() (handler.Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.result, g.err
}

// Conditions that owners write while the handler runs, so that it knows an old
// list only, survive its own.
func TestConditionDisturbsNoOwner(t *testing.T) {
	t.Parallel()
	for _, kind := range conditionKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			u := b.conditioned(kind, "one")
			spec := b.spec(u.GroupVersionKind(), "myapp", handler.Create|handler.Update)
			spec.Status.Condition = "Provisioned"
			var seen calls
			b.start(one(spec, func(_ context.Context, req *request) (handler.Result, error) {
				n := seen.add(req.Info)
				owner := fmt.Sprintf("owner%d", n)
				err := b.tryApply(u, owner, fields{"conditions": []any{condition(owner, "True", "Fine", "", n)}})
				if err != nil {
					return handler.Result{}, err
				}
				if n%2 == 1 {
					return handler.Result{Status: fields{"phase": owner}}, handler.Temporary("odd", handler.After(0))
				}
				return handler.Result{Status: fields{"phase": owner}}, nil
			}))
			b.create(u)
			b.awaitCalls(&seen, 2)
			b.await(u, "Succeeded")
			var owners sync.WaitGroup
			for i := range 3 {
				owners.Go(func() {
					for j := range 10 {
						owner := fmt.Sprintf("busy%d", i)
						if err := b.tryApply(u, owner, fields{"conditions": []any{condition(owner, "True", "Fine", fmt.Sprint(j), j)}}); err != nil {
							t.Error(err)
						}
					}
				})
			}
			for i := range 3 {
				b.patch(u, fmt.Sprintf(`{"metadata":{"labels":{"step":"%d"}}}`, i))
				b.awaitCalls(&seen, 4+2*i)
			}
			owners.Wait()
			b.eventually(func() error {
				now := b.get(u)
				if state := now.GetAnnotations()[b.key("state")]; state != "Succeeded" || conditionOf(now, "Provisioned")["status"] != "True" {
					return fmt.Errorf("state is %q, the condition %v", state, conditionOf(now, "Provisioned"))
				}
				return nil
			})
			b.stays(u, &seen, 8)
			u = b.get(u)
			for i := range 8 {
				owner := fmt.Sprintf("owner%d", i+1)
				if c := conditionOf(u, owner); !same(c, condition(owner, "True", "Fine", "", i+1)) {
					t.Errorf("the condition of %s is %v", owner, c)
				}
			}
			for i := range 3 {
				owner := fmt.Sprintf("busy%d", i)
				if c := conditionOf(u, owner); !same(c, condition(owner, "True", "Fine", "9", 9)) {
					t.Errorf("the condition of %s is %v", owner, c)
				}
			}
		})
	}
}
