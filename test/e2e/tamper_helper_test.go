package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// tampering is an operator that users try to deceive: with the webhook up, its
// controller is restarted after each try; with the webhook down, its memory is
// all there is, so it goes on.
type tampering struct {
	*bench
	kind    schema.GroupVersionKind
	webhook bool
	specs   []handler.Spec
	run     func(context.Context, *request) (handler.Result, error)
	seen    calls
	address string
	running *operator
	// webhookServer is the webhook, apart from the controller.
	webhookServer *operator
	probes        int
}

func (b *bench) tampering(kind schema.GroupVersionKind, webhook bool, specs ...handler.Spec) *tampering {
	b.Helper()
	x := &tampering{bench: b, kind: kind, webhook: webhook, specs: specs}
	if webhook {
		x.address = freeAddress(b)
		x.webhookServer = b.start(x.register, x.options("webhook", controller.RoleWebhook))
	}
	x.begin()
	if webhook {
		b.awaitWebhook(b.object(kind, "one", bodyOf(kind)))
	}
	return x
}

func (x *tampering) register(r handler.Registry) {
	for _, spec := range x.specs {
		spec.Kind, spec.Labels = x.kind, "test="+x.namespace
		handler.Register(r, spec, func(ctx context.Context, req *request) (handler.Result, error) {
			if !strings.HasPrefix(req.Object.GetName(), "probe") {
				x.seen.add(req.Info)
				if x.run != nil {
					return x.run(ctx, req)
				}
			}
			return handler.Result{}, nil
		})
	}
}

func (x *tampering) options(account string, role controller.Role) func(*controller.Options) {
	config := x.account(account)
	return func(o *controller.Options) {
		o.Config, o.Roles = config, role
		o.Webhook = &controller.Webhook{
			Address: x.address, URL: "https://" + x.address, LameDuck: -1,
			ControllerUsers: []string{"system:serviceaccount:" + x.namespace + ":operator"},
		}
	}
}

func (x *tampering) begin() {
	x.Helper()
	if x.webhook {
		x.running = x.start(x.register, x.options("operator", controller.RoleController))
	} else {
		x.running = x.start(x.register)
	}
}

// try has a user do something, and waits until the operator has looked at it.
func (x *tampering) try(do func()) {
	x.Helper()
	if x.webhook {
		x.running.stop()
	}
	do()
	if x.webhook {
		x.begin()
	}
	x.probe()
}

// probe sends an object through the operator, after all that came before.
func (x *tampering) probe() {
	x.Helper()
	x.probes++
	u := x.create(x.object(x.kind, fmt.Sprintf("probe%d", x.probes), bodyOf(x.kind)))
	x.await(u, "Succeeded")
	x.quiet(u)
}

// ran tells whether the handlers have run as often as they should.
func (x *tampering) ran(what string, want ...string) {
	x.Helper()
	rigtest.Eventually(x, settle, func() error {
		if n := len(x.seen.all()); n < len(want) {
			return fmt.Errorf("%s: %d runs, want %d", what, n, len(want))
		}
		return nil
	})
	if got := causes(x.seen.all()); !slices.Equal(got, want) {
		x.Fatalf("%s: runs are %q, want %q", what, got, want)
	}
}

// intact waits until the object carries its state.
func (x *tampering) intact(what string, u *unstructured.Unstructured) *unstructured.Unstructured {
	x.Helper()
	var fresh *unstructured.Unstructured
	rigtest.Eventually(x, settle, func() error {
		fresh = x.get(u)
		m := x.markerOf(fresh)
		needs := slices.ContainsFunc(x.specs, func(s handler.Spec) bool { return s.On&handler.Delete != 0 })
		switch {
		case m.Handled == nil || m.Handled.UID != string(fresh.GetUID()) || m.State != storage.Succeeded || m.Progress != nil:
			return fmt.Errorf("%s: the state is not there again: %s", what, x.ours(fresh))
		case needs && !slices.Contains(fresh.GetFinalizers(), x.key("finalizer")):
			return errors.New(what + ": the finalizer is not there again")
		}
		return nil
	})
	return fresh
}

// without is the object as a user has it who knows nothing of us.
func (x *tampering) without(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	annotations := u.GetAnnotations()
	for key := range annotations {
		if strings.HasPrefix(key, "dogear.") {
			delete(annotations, key)
		}
	}
	u.SetAnnotations(annotations)
	u.SetFinalizers(nil)
	return u
}

// annotate sets an annotation of ours.
func (x *tampering) annotate(u *unstructured.Unstructured, key, value string) {
	x.Helper()
	x.merge(u, toJSON(x, map[string]any{"metadata": map[string]any{"annotations": map[string]any{x.key(key): value}}}))
}

func eachKind(t *testing.T, names []string, test func(t *testing.T, b *bench, kind schema.GroupVersionKind, webhook bool)) {
	for _, k := range kinds {
		if !slices.Contains(names, k.name) {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, func(t *testing.T, b *bench, webhook bool) { test(t, b, k.kind, webhook) })
		})
	}
}

// fresh is an essence that the object has not had before.
func fresh(u *unstructured.Unstructured, value string) *unstructured.Unstructured {
	u = u.DeepCopy()
	labels := u.GetLabels()
	labels["fresh"] = value
	u.SetLabels(labels)
	return u
}
