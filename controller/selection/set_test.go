package selection

import (
	"context"
	"strings"
	"testing"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
)

type registry []handler.Registration

func (r *registry) Add(h handler.Registration) { *r = append(*r, h) }

func nothing[T client.Object](context.Context, *handler.Request[T]) (handler.Result, error) {
	return handler.Result{}, nil
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func compileAll(t *testing.T, register func(handler.Registry)) []*Set {
	t.Helper()
	var r registry
	register(&r)
	sets, err := Compile(r, scheme(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

func TestHandlersAreGroupedByKindInDeclaredOrder(t *testing.T) {
	t.Parallel()
	sets := compileAll(t, func(r handler.Registry) {
		handler.Register(r, handler.Spec{ID: "a", On: handler.Create}, nothing[*corev1.Service])
		handler.Register(r, handler.Spec{ID: "b", On: handler.Create}, nothing[*corev1.ConfigMap])
		handler.Register(r, handler.Spec{ID: "c", On: handler.Delete}, nothing[*corev1.Service])
	})
	if len(sets) != 2 || sets[0].Kind.Kind != "Service" || len(sets[0].Handlers) != 2 || sets[0].Handlers[1].Spec.ID != "c" {
		t.Errorf("sets %+v", sets)
	}
}

func TestWhatIsWrongWithARegistrationIsSaid(t *testing.T) {
	t.Parallel()
	for want, register := range map[string]func(handler.Registry){
		"another one has the same ID": func(r handler.Registry) {
			for range 2 {
				handler.Register(r, handler.Spec{ID: "a", On: handler.Create}, nothing[*corev1.Service])
			}
		},
		"is not known: add its type to Options.Scheme": func(r handler.Registry) {
			handler.Register(r, handler.Spec{ID: "a", On: handler.Create}, nothing[*cmapi.Certificate])
		},
		"or set Spec.Kind": func(r handler.Registry) {
			handler.Register(r, handler.Spec{ID: "a", On: handler.Create}, nothing[*unstructured.Unstructured])
		},
		"but its type is": func(r handler.Registry) {
			handler.Register(r, handler.Spec{ID: "a", On: handler.Create, Kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}}, nothing[*corev1.Service])
		},
		"is also handled in version v1": func(r handler.Registry) {
			handler.Register(r, handler.Spec{ID: "a", On: handler.Create}, nothing[*corev1.Service])
			handler.Register(r, handler.Spec{ID: "b", On: handler.Create, Kind: schema.GroupVersionKind{Version: "v2", Kind: "Service"}}, nothing[*unstructured.Unstructured])
		},
		"the function is nil": func(r handler.Registry) {
			handler.Register[*corev1.Service](r, handler.Spec{ID: "a", On: handler.Create}, nil)
		},
		"want at least one of": func(r handler.Registry) { handler.Register(r, handler.Spec{ID: "a"}, nothing[*corev1.Service]) },
		"Fields": func(r handler.Registry) {
			handler.Register(r, handler.Spec{ID: "a", On: handler.Update, Fields: []string{"spec..x"}}, nothing[*corev1.Service])
		},
		"want Create, or Create|Update": func(r handler.Registry) {
			handler.Defaults(r, handler.Spec{ID: "a", On: handler.Delete}, func(*corev1.Service, handler.Admission) error { return nil })
		},
	} {
		var r registry
		register(&r)
		if _, err := Compile(r, scheme(t), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
}

func TestASelectorIsPushedDownOnlyWhereAllShareIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		labels []string
		want   string
	}{{[]string{"a=b", "a=b"}, "a=b"}, {[]string{"a=b", "a=c"}, ""}, {[]string{"a=b", ""}, ""}} {
		set := compileAll(t, func(r handler.Registry) {
			for i, selector := range c.labels {
				handler.Register(r, handler.Spec{ID: string(rune('a' + i)), On: handler.Create, Labels: selector}, nothing[*corev1.Service])
			}
		})[0]
		have := ""
		if selector := set.Labels(); selector != nil {
			have = selector.String()
		}
		if have != c.want {
			t.Errorf("%q: pushed down %q, want %q", c.labels, have, c.want)
		}
	}
}

func TestAllFiltersMustMatch(t *testing.T) {
	t.Parallel()
	set := compileAll(t, func(r handler.Registry) {
		handler.Register(r, handler.Spec{
			ID: "a", On: handler.Create, Labels: "app=web", Namespaces: []string{"ns"},
			Annotations: map[string]handler.Match{"size": handler.Equals("big"), "off": handler.Absent},
		}, nothing[*corev1.Service], handler.When(func(s *corev1.Service) bool { return s.Spec.Type == corev1.ServiceTypeLoadBalancer }))
	})[0]
	good := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"type": "LoadBalancer"},
			"metadata": map[string]any{"name": "s", "namespace": "ns", "labels": map[string]any{"app": "web"}, "annotations": map[string]any{"size": "big"}},
		}}
	}
	for name, c := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"all":                                  {func(*unstructured.Unstructured) {}, true},
		"namespace":                            {func(u *unstructured.Unstructured) { u.SetNamespace("other") }, false},
		"label":                                {func(u *unstructured.Unstructured) { u.SetLabels(nil) }, false},
		"annotation":                           {func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"size": "small"}) }, false},
		"absent":                               {func(u *unstructured.Unstructured) { u.SetAnnotations(map[string]string{"size": "big", "off": ""}) }, false},
		"predicate":                            {func(u *unstructured.Unstructured) { u.Object["spec"] = map[string]any{"type": "ClusterIP"} }, false},
		"undecodable, so that its run says so": {func(u *unstructured.Unstructured) { u.Object["spec"] = "text" }, true},
	} {
		u := good()
		c.change(u)
		if have, err := set.Handlers[0].Selects(u); err != nil || have != c.want {
			t.Errorf("%s: selected %v, %v; want %v", name, have, err, c.want)
		}
	}
}

func TestAPredicateThatPanicsIsAnError(t *testing.T) {
	t.Parallel()
	set := compileAll(t, func(r handler.Registry) {
		handler.Register(r, handler.Spec{ID: "a", On: handler.Create}, nothing[*corev1.Service],
			handler.When(func(*corev1.Service) bool { panic("no") }))
	})[0]
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	if _, _, err := set.Look(u, "f"); err == nil || !strings.Contains(err.Error(), `predicate of handler "a"`) {
		t.Errorf("error %v", err)
	}
}

func TestWhatTheDecisionSees(t *testing.T) {
	t.Parallel()
	set := compileAll(t, func(r handler.Registry) {
		handler.Register(r, handler.Spec{ID: "a", On: handler.Update, Fields: []string{"spec.type"}, Revision: 2}, nothing[*corev1.Service])
		handler.Register(r, handler.Spec{ID: "b", On: handler.Create | handler.Delete, Retry: handler.Retry{Limit: 3}}, nothing[*corev1.Service])
	})[0]
	now := metav1.Now()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service", "spec": map[string]any{"type": "ClusterIP"}}}
	u.SetName("s")
	u.SetUID("u1")
	u.SetGeneration(4)
	u.SetFinalizers([]string{"other", "ours"})
	u.SetDeletionTimestamp(&now)
	object, handlers, err := set.Look(u, "ours")
	if err != nil {
		t.Fatal(err)
	}
	if object.UID != "u1" || object.Generation != 4 || !object.Held || !object.Deleting || object.Essence == "" {
		t.Errorf("object %+v", object)
	}
	if handlers[0].Digest == "" || handlers[0].Revision != 2 || handlers[1].Digest != "" || handlers[1].Retry.Limit != 3 {
		t.Errorf("handlers %+v", handlers)
	}
}

func TestHandlersThatShareAPlaceAreNamed(t *testing.T) {
	t.Parallel()
	set := compileAll(t, func(r handler.Registry) {
		handler.Register(r, handler.Spec{ID: "c", On: handler.Create, Status: handler.StatusTarget{Target: handler.Annotation, Path: "b"}}, nothing[*corev1.Service])
		handler.Register(r, handler.Spec{ID: "a", On: handler.Create, Status: handler.StatusTarget{Path: "b.c"}}, nothing[*corev1.Service])
		handler.Register(r, handler.Spec{ID: "b", On: handler.Create}, nothing[*corev1.Service])
	})[0]
	if pairs := set.Shared(); len(pairs) != 1 || pairs[0] != [2]string{"a", "b"} {
		t.Errorf("pairs %v", pairs)
	}
}
