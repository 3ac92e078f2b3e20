package sets

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/storage"
)

// judging is a service that judges sets without a cluster.
type judging struct {
	*Service
	t      *testing.T
	now    *testingclock.FakeClock
	api    *server
	denied func(authorizationv1.ResourceAttributes) bool
}

func newJudging(t *testing.T, all ...v1alpha1.AnySet) *judging {
	t.Helper()
	settings := config.Default()
	settings.Roles, settings.Namespace, settings.AllowLoopback = []string{config.RoleController}, "dogear-system", true
	settings.NamespacedResources = []string{"*.example.com"}
	scheme := controller.DefaultScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	j := &judging{t: t, now: testingclock.NewFakeClock(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))}
	j.api = &server{versions: map[string][]metav1.APIResource{"v1": things, "v2": things}}
	j.denied = func(authorizationv1.ResourceAttributes) bool { return false }
	builder := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			review, ok := o.(*authorizationv1.SelfSubjectAccessReview)
			if !ok {
				return c.Create(ctx, o, opts...)
			}
			review.Status.Allowed = !j.denied(*review.Spec.ResourceAttributes)
			return nil
		},
	})
	for _, set := range all {
		builder = builder.WithObjects(set.(client.Object))
	}
	c := builder.Build()
	op, err := controller.New(controller.Options{
		Domain: storage.ServiceDomain, Config: &rest.Config{}, Scheme: scheme, Namespace: settings.Namespace,
		Log: testr.New(t), Roles: controller.RoleController, Declared: true, Clock: j.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	j.Service = &Service{
		settings: settings, log: testr.New(t), clock: j.now, op: op, cached: c, client: c,
		served: &served{discovery: j.api, clock: j.now}, rights: &rights{client: c, clock: j.now, keeps: j0},
		changed: make(chan struct{}, 1), synced: make(chan struct{}, 1),
	}
	if j.endpoints, err = j.newEndpoints(t.Context(), &rest.Config{}); err != nil {
		t.Fatal(err)
	}
	return j
}

// j0 keeps any status.
func j0(context.Context, schema.GroupVersionKind, ...string) (bool, error) { return true, nil }

// judged declares all sets, and returns what has become of each.
func (j *judging) judged(all ...v1alpha1.AnySet) (out []*verdict) {
	j.t.Helper()
	j.declare(j.t.Context())
	for _, set := range all {
		found := false
		for _, v := range j.Service.judged.Load().sets {
			if v.set.GetNamespace() == set.GetNamespace() && v.set.GetName() == set.GetName() {
				out, found = append(out, v), true
			}
		}
		if !found {
			j.t.Fatalf("%s was not judged", nameOf(set))
		}
	}
	return out
}

// condition is one of the status that a set would get.
func (j *judging) condition(v *verdict, kind string) metav1.Condition {
	j.t.Helper()
	status := v.set.Observed().DeepCopy()
	j.fill(v, status)
	if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{}
}

// setOf makes a set of the group example.com with handlers that are in force:
// name is <name> or <namespace>/<name>, created age hours ago.
func setOf(t *testing.T, name, resource, version string, age int, spec string) v1alpha1.AnySet {
	t.Helper()
	var set v1alpha1.AnySet = &v1alpha1.ClusterHandlerSet{}
	namespace, short, namespaced := strings.Cut(name, "/")
	if namespaced {
		set = &v1alpha1.HandlerSet{}
		set.SetNamespace(namespace)
	}
	set.SetName(cmp.Or(short, name))
	set.SetUID(types.UID(name))
	set.SetCreationTimestamp(metav1.NewTime(time.Date(2026, 11, 30, 12-age, 0, 0, 0, time.UTC)))
	set.SetFinalizers([]string{Cleanup})
	if err := yaml.UnmarshalStrict([]byte(spec), set.Declared()); err != nil {
		t.Fatal(err)
	}
	set.Declared().Resource = v1alpha1.Resource{Group: "example.com", Version: version, Resource: resource}
	for i := range set.Declared().Handlers {
		h := &set.Declared().Handlers[i]
		if h.Causes == nil {
			h.Causes = []v1alpha1.Cause{v1alpha1.CauseCreate}
		}
		if h.HTTP.URL == "" {
			h.HTTP.Service = &v1alpha1.ServiceReference{Name: "hook"}
			if !namespaced {
				h.HTTP.Service.Namespace = "hooks"
			}
		}
		set.Observed().Handlers = append(set.Observed().Handlers, v1alpha1.HandlerStatus{ID: h.ID, Phase: v1alpha1.HandlerActive})
	}
	return set
}

func deleted(set v1alpha1.AnySet) v1alpha1.AnySet {
	set.SetDeletionTimestamp(new(metav1.NewTime(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))))
	return set
}

const (
	plainHandler = "handlers: [{id: h}]"
	invalid      = "handlers: [{id: h, fields: ['spec..a']}]"
	notAllowed   = "handlers: [{id: h, http: {url: 'https://elsewhere.example.com/'}}]"
)

// Whoever may make a set in a namespace must not take others out of force.
func TestWhoDecidesTheVersion(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sets    func(*testing.T) []v1alpha1.AnySet
		inForce []bool
	}{
		"the oldest": {func(t *testing.T) []v1alpha1.AnySet {
			return []v1alpha1.AnySet{setOf(t, "a", "things", "v1", 1, plainHandler), setOf(t, "b", "things", "v2", 2, plainHandler)}
		}, []bool{false, true}},
		"of equals the first by name": {func(t *testing.T) []v1alpha1.AnySet {
			return []v1alpha1.AnySet{setOf(t, "b", "things", "v2", 1, plainHandler), setOf(t, "a", "things", "v1", 1, plainHandler)}
		}, []bool{false, true}},
		"the oldest of HandlerSets": {func(t *testing.T) []v1alpha1.AnySet {
			return []v1alpha1.AnySet{setOf(t, "a/a", "things", "v1", 1, plainHandler), setOf(t, "b/a", "things", "v2", 2, plainHandler)}
		}, []bool{false, true}},
		"a ClusterHandlerSet before an older HandlerSet": {func(t *testing.T) []v1alpha1.AnySet {
			return []v1alpha1.AnySet{setOf(t, "a/a", "things", "v1", 2, plainHandler), setOf(t, "b", "things", "v2", 1, plainHandler)}
		}, []bool{false, true}},
		"none that is invalid": {func(t *testing.T) []v1alpha1.AnySet {
			return []v1alpha1.AnySet{setOf(t, "a", "things", "v1", 2, invalid), setOf(t, "b/b", "things", "v2", 1, plainHandler)}
		}, []bool{false, true}},
		"none that is not allowed": {func(t *testing.T) []v1alpha1.AnySet {
			return []v1alpha1.AnySet{setOf(t, "a", "things", "v1", 2, notAllowed), setOf(t, "b/b", "things", "v2", 1, plainHandler)}
		}, []bool{false, true}},
		"none that is being deleted": {func(t *testing.T) []v1alpha1.AnySet {
			return []v1alpha1.AnySet{deleted(setOf(t, "a", "things", "v1", 2, plainHandler)), setOf(t, "b/b", "things", "v2", 1, plainHandler)}
		}, []bool{false, true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := test.sets(t)
			j := newJudging(t, all...)
			versions := map[string]bool{}
			for i, v := range j.judged(all...) {
				if v.usable != test.inForce[i] {
					t.Errorf("%s: in force %v, %+v", nameOf(v.set), v.usable, v.findings)
				}
				if v.undeclared != nil {
					t.Error(v.undeclared)
				}
				versions[v.resource.kind.Version] = true
			}
			if len(versions) != 1 {
				t.Errorf("objects are handled in versions %v", versions)
			}
		})
	}
}

func TestAVersionThatLacksRightsInItsNamespaceDoesNotDecide(t *testing.T) {
	t.Parallel()
	older, other := setOf(t, "a/a", "things", "v1", 2, plainHandler), setOf(t, "b/b", "things", "v2", 1, plainHandler)
	j := newJudging(t, older, other)
	j.denied = func(r authorizationv1.ResourceAttributes) bool { return r.Namespace == "a" }
	all := j.judged(older, other)
	if all[0].usable || !all[1].usable {
		t.Errorf("in force: %v, %v", all[0].usable, all[1].usable)
	}
	if c := j.condition(all[0], v1alpha1.ConditionPermitted); c.Reason != rightsMissing {
		t.Errorf("what is to be mended first is %q", c.Reason)
	}
	j.denied = func(authorizationv1.ResourceAttributes) bool { return false }
	j.now.Step(time.Hour)
	all = j.judged(older, other)
	if c := j.condition(all[1], v1alpha1.ConditionPermitted); c.Reason != "VersionConflict" || !strings.Contains(c.Message, "HandlerSet a/a names version v1") {
		t.Errorf("%+v", c)
	}
}

// The same kind under two names, in two versions, is what the engine does not
// take. Nobody must believe that it has.
func TestWhatCannotBeDeclaredIsTold(t *testing.T) {
	t.Parallel()
	first, second := setOf(t, "a", "things", "v1", 1, plainHandler), setOf(t, "b", "others", "v2", 1, plainHandler)
	gone := deleted(setOf(t, "c", "things", "v1", 1, plainHandler))
	j := newJudging(t, first, second, gone)
	others := append([]metav1.APIResource{}, things[0])
	others[0].Name = "others"
	j.api.versions["v2"] = others
	for range 2 { // it is tried again
		for i, v := range j.judged(first, second, gone) {
			if v.undeclared == nil {
				t.Fatal("it was declared")
			}
			want := []string{"NotDeclared", "NotDeclared", "Deleting"}[i]
			if c := j.condition(v, v1alpha1.ConditionReady); c.Status != metav1.ConditionFalse || c.Reason != want || !strings.Contains(c.Message, v.undeclared.Error()) {
				t.Errorf("%s: %+v", nameOf(v.set), c)
			}
			if c := j.condition(v, v1alpha1.ConditionReconciling); c.Status != metav1.ConditionTrue {
				t.Errorf("%s: %+v", nameOf(v.set), c)
			}
			if _, done, err := j.cleaned(v); done != (len(v.removing) == 0) || !done && err == nil {
				t.Errorf("%s: cleaned %v, %v", nameOf(v.set), done, err)
			}
		}
	}
	// Also where there is no resource at all any more.
	v := j.judged(gone)[0]
	v.resource, v.unserved = nil, true
	if _, done, _ := j.cleaned(v); done {
		t.Error("cleaned")
	}
	delete(j.api.versions, "v2")
	j.now.Step(time.Minute)
	if v := j.judged(first)[0]; v.undeclared != nil || j.condition(v, v1alpha1.ConditionReady).Reason == "NotDeclared" {
		t.Errorf("it can be declared again: %v", v.undeclared)
	}
}

func TestARemovalThatLacksRightsSaysWhich(t *testing.T) {
	t.Parallel()
	gone := deleted(setOf(t, "a/gone", "things", "v1", 1, plainHandler))
	less := setOf(t, "less", "things", "v1", 1, plainHandler)
	less.Declared().Handlers = nil
	j := newJudging(t, gone, less)
	j.denied = func(r authorizationv1.ResourceAttributes) bool { return r.Verb == "patch" }
	// What is asked for is no more than the set needs.
	roles := map[string][]string{"HandlerSet a/gone": {"kind: Role\n", "kind: RoleBinding\n", "namespace: a\n"}, "ClusterHandlerSet less": {"kind: ClusterRole\n"}}
	for _, v := range j.judged(gone, less) {
		for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionPermitted} {
			c := j.condition(v, kind)
			for _, text := range append(roles[nameOf(v.set)], "Dogear lacks rights for things.example.com: patch.") {
				if !strings.Contains(c.Message, text) {
					t.Errorf("%s: no %q in %+v", nameOf(v.set), text, c)
				}
			}
		}
	}
	j.denied = func(r authorizationv1.ResourceAttributes) bool { return r.Subresource != "" } // a removal leaves .status alone
	j.now.Step(time.Minute)
	if c := j.condition(j.judged(gone)[0], v1alpha1.ConditionReady); c.Reason != "Deleting" || strings.Contains(c.Message, "rights") {
		t.Errorf("%+v", c)
	}
}

func TestHandlersThatShareAPlaceInStatus(t *testing.T) {
	t.Parallel()
	at := func(name string, handlers string) v1alpha1.AnySet {
		return setOf(t, name, "things", "v1", 1, "handlers: ["+handlers+"]")
	}
	tests := map[string]struct {
		first, later v1alpha1.AnySet
		want         string
	}{
		"a cluster's and a tenant's of the same ID": {at("a", "{id: h}"), at("n/b", "{id: h}"), ".status.h is also written to by ClusterHandlerSet a"},
		"two tenants'":                   {at("m/a", "{id: h}"), at("n/b", "{id: h}"), ""},
		"a tenant's":                     {at("n/a", "{id: h}"), at("n/b", "{id: h}"), ".status.h is also written to by HandlerSet n/a"},
		"two places":                     {at("a", "{id: h}"), at("b", "{id: i}"), ""},
		"one inside of the other":        {at("a", "{id: h, status: {path: x.y}}"), at("b", "{id: h, status: {path: x.y.z}}"), ".status.x.y.z is"},
		"one around the other":           {at("a", "{id: h, status: {path: x.y.z}}"), at("n/b", "{id: h, status: {path: x}}"), ".status.x is"},
		"one beside the other":           {at("a", "{id: h, status: {path: x.y}}"), at("b", "{id: h, status: {path: x.yz}}"), ""},
		"in the annotation":              {at("a", "{id: h, status: {target: Annotation}}"), at("b", "{id: h}"), ""},
		"the same condition":             {at("a", "{id: h, status: {condition: true, conditionType: Good}}"), at("n/b", "{id: i, status: {condition: true, conditionType: Good}}"), ".status.conditions[Good] is"},
		"another condition":              {at("a", "{id: h, status: {condition: true, conditionType: Good}}"), at("b", "{id: i, status: {condition: true}}"), ""},
		"with a set that is deleted":     {deleted(at("a", "{id: h}")), at("b", "{id: h}"), ""},
		"of a set that is being deleted": {at("a", "{id: h}"), deleted(at("b", "{id: h}")), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJudging(t, test.first, test.later)
			all := j.judged(test.first, test.later)
			c := j.condition(all[1], "StatusShared")
			if (test.want == "") != (c.Type == "") || !strings.Contains(c.Message, test.want) {
				t.Errorf("%+v, want %q", c, test.want)
			}
			if c := j.condition(all[0], "StatusShared"); c.Type != "" {
				t.Errorf("of the first: %+v", c)
			}
		})
	}
}

// What stands for handlers must not have all objects of the kind watched and
// sent to admission.
func TestPlaceholdersSelectByTheLabelsOfTheSet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ spec, want string }{
		"invalid elsewhere": {"match: {labelSelector: {matchLabels: {app: web}}, conditions: [{name: c, expression: '('}]}\n" + plainHandler, "app=web"},
		"not allowed":       {"match: {labelSelector: {matchExpressions: [{key: app, operator: In, values: [a, b]}]}}\n" + notAllowed, "app in (a,b)"},
		"no selector":       {invalid, ""},
		"that does not parse": {
			"match: {labelSelector: {matchExpressions: [{key: app, operator: Near}]}}\n" + plainHandler, "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := setOf(t, "a", "things", "v1", 1, test.spec)
			v := newJudging(t, set).judged(set)[0]
			if v.usable || len(v.registrations) != 1 || v.undeclared != nil {
				t.Fatalf("%+v", v)
			}
			if got := v.registrations[0].Spec.Labels; got != test.want {
				t.Errorf("selects %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheTimeOfAnErrorIsThatOfItsFirstOccurrence(t *testing.T) {
	t.Parallel()
	set := setOf(t, "a", "things", "v1", 1, plainHandler)
	j := newJudging(t, set)
	seen := v1alpha1.HandlerStatus{ID: "h", LastError: "refused"}
	at := j.lastErrorTime(set, seen)
	if !at.Time.Equal(j.now.Now()) {
		t.Errorf("%s, want %s", at, j.now.Now())
	}
	seen.LastErrorTime = at
	set.Observed().Handlers = []v1alpha1.HandlerStatus{seen}
	j.now.Step(time.Hour)
	if again := j.lastErrorTime(set, seen); !again.Equal(at) {
		t.Errorf("%s, want %s", again, at)
	}
	if other := j.lastErrorTime(set, v1alpha1.HandlerStatus{ID: "h", LastError: "another"}); !other.Time.Equal(j.now.Now()) {
		t.Errorf("%s, want %s", other, j.now.Now())
	}
}
