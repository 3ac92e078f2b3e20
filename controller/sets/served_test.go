package sets

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// server is the discovery of one that may not answer.
type server struct {
	discovery.DiscoveryInterface
	versions map[string][]metav1.APIResource // of the group example.com
	err      error
	asked    int
}

func (s *server) ServerResourcesForGroupVersion(name string) (*metav1.APIResourceList, error) {
	s.asked++
	if s.err != nil {
		return nil, s.err
	}
	if list, ok := s.versions[strings.TrimPrefix(name, "example.com/")]; ok {
		return &metav1.APIResourceList{APIResources: list}, nil
	}
	return nil, apierrors.NewNotFound(schema.GroupResource{}, name)
}

func (s *server) ServerGroups() (*metav1.APIGroupList, error) {
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
	ask := right{group: "example.com", resource: "things", verb: "list"}
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
