package sets

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// server is the discovery of one that may not answer.
type server struct {
	versions map[string][]metav1.APIResource // of the group example.com
	err      error
	asked    int
}

func (s *server) ServerResourcesForGroupVersionWithContext(_ context.Context, name string) (*metav1.APIResourceList, error) {
	s.asked++
	if s.err != nil {
		return nil, s.err
	}
	if list, ok := s.versions[strings.TrimPrefix(name, "example.com/")]; ok {
		return &metav1.APIResourceList{APIResources: list}, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
}

func (s *server) ServerGroupsWithContext(context.Context) (*metav1.APIGroupList, error) {
	group := metav1.APIGroup{Name: "example.com"}
	for version := range s.versions {
		group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{Version: version})
	}
	return &metav1.APIGroupList{Groups: []metav1.APIGroup{group}}, s.err
}

var things = []metav1.APIResource{
	{Name: "things", Kind: "Thing", Namespaced: true, Verbs: []string{"get", "list", "watch", "patch"}},
	{Name: "things/status", Kind: "Thing"},
	{Name: "reviews", Kind: "Review", Verbs: []string{"create"}},
}

func resourceNamed(version, name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "example.com", Version: version, Resource: name}
}

func TestWhatIsServed(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := &served{
		discovery: &server{versions: map[string][]metav1.APIResource{"v1": things}},
		clock:     testingclock.NewFakePassiveClock(time.Now()),
	}
	r, err := s.find(ctx, resourceNamed("v1", "things"))
	if err != nil || r.kind.Kind != "Thing" || !r.namespaced || !r.subresource {
		t.Errorf("found %+v, %v", r, err)
	}
	r, err = s.find(ctx, resourceNamed("v2", "things"))
	if !isMissing(err) || !strings.Contains(err.Error(), "but in v1: change spec.resource.version") || r == nil || r.kind.Version != "v1" {
		t.Errorf("in another version: %+v, %v", r, err)
	}
	r, err = s.find(ctx, resourceNamed("v1", "others"))
	if !isMissing(err) || !strings.Contains(err.Error(), "is its CRD installed?") || r != nil {
		t.Errorf("nowhere: %+v, %v", r, err)
	}
	r, err = s.find(ctx, resourceNamed("v1", "reviews"))
	if !isMissing(err) || !strings.Contains(err.Error(), "has no verb get") || r != nil {
		t.Errorf("without objects: %+v, %v", r, err)
	}
}

func TestWhatWasServedLastCountsWhileTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	api, now := &server{versions: map[string][]metav1.APIResource{"v1": things}}, testingclock.NewFakePassiveClock(time.Now())
	s := &served{discovery: api, clock: now}
	name := resourceNamed("v1", "things")
	api.err = apierrors.NewServiceUnavailable("starting")
	if r, err := s.find(ctx, name); err == nil || isMissing(err) || r != nil {
		t.Errorf("nothing is known: %+v, %v", r, err)
	}
	pass := func(err error) (*resource, error) {
		api.err = err
		now.SetTime(now.Now().Add(time.Minute))
		return s.find(ctx, name)
	}
	for _, err := range []error{nil, apierrors.NewServiceUnavailable("etcd has no leader"), errors.New("connection refused"), nil} {
		if r, found := pass(err); found != nil || r.kind.Kind != "Thing" {
			t.Errorf("%v: %+v, %v", err, r, found)
		}
	}
	delete(api.versions, "v1")
	if r, err := pass(nil); !isMissing(err) || r != nil {
		t.Errorf("gone: %+v, %v", r, err)
	}
	if asked := api.asked; asked > 8 {
		t.Errorf("asked %d times", asked)
	}
}

// hanging is a server that does not answer for one version.
type hanging struct {
	server
	version string
	mu      sync.Mutex
	answers bool
	times   map[string]int
}

func (h *hanging) ServerResourcesForGroupVersionWithContext(ctx context.Context, name string) (*metav1.APIResourceList, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.times[name]++
	if name == h.version && !h.answers {
		h.mu.Unlock()
		<-ctx.Done()
		h.mu.Lock()
		return nil, ctx.Err()
	}
	return h.server.ServerResourcesForGroupVersionWithContext(ctx, name)
}

// A server behind the API server that hangs holds up nobody for long, is not
// asked by each set anew, and is taken in when it answers.
func TestAGroupThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &hanging{server: server{versions: map[string][]metav1.APIResource{"v1": things, "v2": things}}, version: "example.com/v2", times: map[string]int{}}
		woken := make(chan struct{}, 1)
		s := &served{discovery: api, clock: clock.RealClock{}, changed: func() { poke(woken) }}
		began := time.Now()
		for range 60 { // rounds of five sets each
			for range 5 {
				if r, err := s.find(t.Context(), resourceNamed("v2", "things")); err == nil || isMissing(err) || r != nil {
					t.Fatalf("unknown: %+v, %v", r, err)
				}
			}
			if _, err := s.find(t.Context(), resourceNamed("v1", "things")); err != nil {
				t.Fatal(err)
			}
			// What may be in the version that does not answer is not missing.
			if r, err := s.find(t.Context(), resourceNamed("v1", "others")); isMissing(err) || r != nil {
				t.Fatalf("unknown: %+v, %v", r, err)
			}
			time.Sleep(time.Second)
		}
		if took := time.Since(began); took > 65*time.Second {
			t.Errorf("60 rounds took %s", took)
		}
		api.mu.Lock()
		if times := api.times["example.com/v2"]; times > 6 {
			t.Errorf("asked %d times in a minute", times)
		}
		api.answers = true
		api.mu.Unlock()
		time.Sleep(servedTTL + askTimeout)
		_, _ = s.find(t.Context(), resourceNamed("v2", "things")) // asks
		<-woken
		if r, err := s.find(t.Context(), resourceNamed("v2", "things")); err != nil || r.kind.Version != "v2" {
			t.Errorf("%+v, %v", r, err)
		}
		api.mu.Lock()
		api.answers = false // what was known counts
		api.mu.Unlock()
		for range 60 {
			if r, err := s.find(t.Context(), resourceNamed("v2", "things")); err != nil || r.kind.Version != "v2" {
				t.Fatalf("%+v, %v", r, err)
			}
			time.Sleep(time.Second)
		}
		synctest.Wait()
	})
}

func TestARightThatWasGivenLastCountsWhileTheServerDoesNotAnswer(t *testing.T) {
	t.Parallel()
	allowed, broken := true, error(nil)
	scheme := runtime.NewScheme()
	if err := authorizationv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
			if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				review.Status.Allowed = allowed
			}
			return broken
		},
	}).Build()
	now := testingclock.NewFakePassiveClock(time.Now())
	r := &rights{client: c, clock: now}
	ask := Right{Group: "example.com", Resource: "things", Verb: "list"}
	broken = errors.New("no answer")
	if _, err := r.has(t.Context(), ask); err == nil {
		t.Error("nothing is known, and no error")
	}
	for i, step := range []struct {
		allowed bool
		broken  error
		want    bool
	}{{true, nil, true}, {false, errors.New("no answer"), true}, {false, nil, false}, {true, errors.New("no answer"), false}, {true, nil, true}} {
		allowed, broken = step.allowed, step.broken
		now.SetTime(now.Now().Add(2 * allowedTTL))
		if have, err := r.has(t.Context(), ask); err != nil || have != step.want {
			t.Errorf("step %d: %v, %v; want %v", i, have, err, step.want)
		}
	}
}
