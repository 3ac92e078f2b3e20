package uninstall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// A service with a thousand objects of a strict CRD and some of core kinds is
// removed: nothing of others is lost, and nothing is stuck.
func TestEverythingIsReleased(t *testing.T) {
	b := newBench(t)
	b.installed(strict, configMap, clusterWide)
	b.many(strict, 1000)
	b.many(configMap, 60)
	system := b.object(configMap, "in-kube-system", ours)
	system.SetNamespace("kube-system")
	shared := b.object(strict, "shared", "example.com/first", ours, foreign)
	theirs := b.object(strict, "theirs", foreign)
	twice := b.object(strict, "twice", ours, foreign, ours)
	nowhere := b.object(clusterWide, "nowhere", ours)
	marked := b.object(strict, "marked", ours)
	marked.SetAnnotations(map[string]string{"dogear.dev/state": "Succeeded"})
	b.create(system, shared, theirs, twice, nowhere, marked)
	other := b.object(service, "not-handled", ours) // a kind that neither ledger nor sets name
	b.create(other)
	var deleted []*unstructured.Unstructured
	for i := range 25 {
		deleted = append(deleted, b.object(strict, fmt.Sprintf("deleted-%02d", i), ours))
	}
	b.create(deleted...)
	for _, u := range deleted {
		b.delete(u)
	}
	kept := b.object(strict, "deleted-shared", ours, foreign)
	b.create(kept)
	b.delete(kept)

	result := b.must()

	if n := b.held(strict) + b.held(configMap) + b.held(clusterWide); n > 0 {
		t.Errorf("%d objects have the finalizer", n)
	}
	b.finalizers(shared, "example.com/first", foreign)
	b.finalizers(theirs, foreign)
	b.finalizers(twice, foreign)
	b.finalizers(kept, foreign)
	b.finalizers(system)
	b.finalizers(other, ours)
	if have := b.live(marked).GetAnnotations()["dogear.dev/state"]; have != "Succeeded" {
		t.Errorf("the annotations went, which nobody asked for: %q", have)
	}
	for _, u := range deleted {
		if b.live(u) != nil {
			t.Errorf("%s is still there", u.GetName())
		}
	}
	if have := result.of("stricts.test.dogear.dev"); have.Released != 1000+3+25+1 || have.Cleaned != 0 || have.Version != "v1" {
		t.Errorf("got %+v", have)
	}
	if have := result.of("configmaps"); have.Released != 61 {
		t.Errorf("got %+v", have)
	}
	if u := result.Unfinished; u.Total != 26 || len(u.Objects) != 20 || u.Objects[0] != (Object{"stricts.test.dogear.dev", b.namespace, "deleted-00"}) {
		t.Errorf("got %+v", u)
	}
	if own := b.own(); len(own) > 0 {
		t.Errorf("still there: %q", own)
	}
	for _, c := range b.configurations() {
		b.gone(c)
	}
	if len(result.Deleted) != 2+2+3 || result.Deleted[len(result.Deleted)-1] != (Object{"configmaps", b.namespace, "dogear.dev"}) {
		t.Errorf("want the configurations first and the ledger last: %v", result.Deleted)
	}
	again := b.must()
	if len(again.Deleted) > 0 || again.Unfinished.Total > 0 {
		t.Errorf("the second run did something: %+v", again)
	}
	wantText(t, strings.Join(again.Notes, "\n"), "run this with --all-resources")
}

// While others add finalizers before ours, and take theirs away, no entry of theirs
// is lost or comes back.
func TestForeignFinalizersSurviveConcurrentEdits(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	objects := b.many(strict, 200)
	edits := sync.WaitGroup{}
	for i, u := range objects {
		if i%2 == 1 {
			continue
		}
		edits.Go(func() {
			for n := range 6 {
				err := retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error {
					fresh := b.live(u)
					finalizers := append([]string{fmt.Sprintf("example.com/edit-%d", n)}, fresh.GetFinalizers()...)
					if n%2 == 1 {
						finalizers = nil
						for _, f := range fresh.GetFinalizers() {
							if f != fmt.Sprintf("example.com/edit-%d", n-1) {
								finalizers = append(finalizers, f)
							}
						}
					}
					fresh.SetFinalizers(finalizers)
					return b.admin.Update(t.Context(), fresh)
				})
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
	b.must()
	edits.Wait()
	if n := b.held(strict); n > 0 {
		t.Errorf("%d objects have the finalizer", n)
	}
	for i, u := range objects {
		if i%2 == 1 {
			b.finalizers(u)
			continue
		}
		b.finalizers(u)
	}
}

// ruled makes a kind whose rule the object "small" breaks, as it came later.
func (b *bench) ruled(kind string) *apiextensionsv1.CustomResourceDefinition {
	b.Helper()
	crds, err := rig.TestCRDs("Widget")
	if err != nil {
		b.Fatal(err)
	}
	crd, lower := crds[0].DeepCopy(), strings.ToLower(kind)
	crd.Name = lower + "s.test.dogear.dev"
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: lower + "s", Singular: lower}
	if err := b.cp.InstallCRDs(b.Context(), crd); err != nil {
		b.Fatal(err)
	}
	return crd
}

// rule sets the rule at the root, and waits until it is in force for an object.
func (b *bench) rule(crd *apiextensionsv1.CustomResourceDefinition, u *unstructured.Unstructured, rules ...apiextensionsv1.ValidationRule) {
	b.Helper()
	rigtest.Eventually(b, settle, func() error {
		fresh := &apiextensionsv1.CustomResourceDefinition{}
		if err := b.admin.Get(b.Context(), client.ObjectKeyFromObject(crd), fresh); err != nil {
			return err
		}
		fresh.Spec.Versions[0].Schema.OpenAPIV3Schema.XValidations = rules
		return b.admin.Update(b.Context(), fresh)
	})
	rigtest.Eventually(b, settle, func() error {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
		err := b.admin.Patch(b.Context(), u.DeepCopy(), patch, client.DryRunAll)
		if apierrors.IsInvalid(err) != (len(rules) > 0) {
			return fmt.Errorf("the rule is not in force: %w", err)
		}
		return nil
	})
}

// What the API server refuses is listed with the reason and without values, and
// holds up no other. Once it is mended, the next run finishes.
func TestRefusedObjectsAreListedExactly(t *testing.T) {
	b := newBench(t)
	crd := b.ruled("Sized")
	kind := strict
	kind.Kind = "Sized"
	b.installed(kind, strict)
	b.many(strict, 5)
	small, big := b.object(kind, "small", ours), b.object(kind, "big", ours)
	for u, size := range map[*unstructured.Unstructured]int64{small: 1, big: 9} {
		_ = unstructured.SetNestedField(u.Object, size, "spec", "size")
	}
	b.create(small, big)
	b.rule(crd, small, apiextensionsv1.ValidationRule{Rule: "self.spec.size > 5", Message: "secret sauce"})

	result, err := b.uninstall()
	if !errors.Is(err, ErrLeft) || result.Done {
		t.Fatalf("got %v", err)
	}
	wantLeft(t, result.Left, "sizeds.test.dogear.dev "+b.namespace+"/small: the object as stored breaks a rule of its kind, so no change of it is taken: the object (FieldValueInvalid)")
	if text := fmt.Sprint(result.Left); strings.Contains(text, "sauce") {
		t.Errorf("the reason repeats the server's text: %s", text)
	}
	b.finalizers(small, ours)
	b.finalizers(big)
	if n := b.held(strict); n > 0 {
		t.Errorf("%d others were held up", n)
	}
	if len(b.own()) != 5 {
		t.Errorf("the ledger is needed by the next run: %q", b.own())
	}
	if have := result.of("sizeds.test.dogear.dev"); have.Objects != 2 || have.Released != 1 || have.Left != 1 {
		t.Errorf("got %+v", have)
	}

	b.rule(crd, small)
	b.must()
	b.finalizers(small)
	if own := b.own(); len(own) > 0 {
		t.Errorf("still there: %q", own)
	}
}

// What comes and goes between two looks is counted once, so that the numbers add up.
func TestObjectsThatComeAndGoAreCounted(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	objects := b.many(strict, 3)
	b.delete(objects[0])
	var lists atomic.Int64
	config := b.wired(func(_ int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/stricts") && lists.Add(1) == 2 {
			b.create(b.object(strict, "late", ours))
			fresh := b.live(objects[1]) // stamped by a request that was under way
			fresh.SetFinalizers([]string{ours})
			if err := b.admin.Update(t.Context(), fresh); err != nil {
				b.Error(err)
			}
		}
		return pass.RoundTrip(req)
	})
	result, err := b.uninstallAs(t.Context(), config)
	if have := result.of("stricts.test.dogear.dev"); err != nil || have.Objects != 4 || have.Released != 4 || result.Unfinished.Total != 1 {
		t.Errorf("got %v, %+v, %+v", err, have, result.Unfinished)
	}
}

// A policy that refuses is named.
func TestPoliciesThatRefuseAreNamed(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	guarded := b.object(strict, "guarded", ours)
	b.create(guarded)
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "keep-" + b.namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Fail),
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": b.namespace}},
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{"UPDATE"},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"test.dogear.dev"}, APIVersions: []string{"*"}, Resources: []string{"stricts"}},
				}}},
			},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "secret sauce"}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec:       admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{"Deny"}},
	}
	for _, o := range []client.Object{policy, binding} {
		if err := b.admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.admin.Delete(context.Background(), o) })
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
	rigtest.Eventually(t, settle, func() error {
		if err := b.admin.Patch(t.Context(), guarded.DeepCopy(), patch, client.DryRunAll); err == nil {
			return errors.New("the policy is not in force")
		}
		return nil
	})
	result, err := b.uninstall()
	if !errors.Is(err, ErrLeft) {
		t.Fatalf("got %v", err)
	}
	wantLeft(t, result.Left, "/guarded: ValidatingAdmissionPolicy '"+policy.Name+"' with binding '"+policy.Name+"' refuses it (422)")
	if text := fmt.Sprint(result.Left); strings.Contains(text, "sauce") {
		t.Errorf("the reason repeats the policy's text: %s", text)
	}
}

// Markers go if that is asked for: those of the service, and no other's.
func TestMarkersAreRemoved(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	annotations := map[string]string{
		"dogear.dev/state": "Failed", "dogear.dev/handled": "{}", "dogear.dev/paused": "true", "dogear.dev/unknown": "x",
	}
	others := map[string]string{
		"dogear.certs.example.com/state": "Succeeded", "dogear.development/state": "x", "example.com/dogear.dev": "x",
	}
	all := map[string]string{}
	for _, m := range []map[string]string{annotations, others} {
		for key, value := range m {
			all[key] = value
		}
	}
	held, marked, bare, clean := b.object(strict, "held", ours, "dogear.certs.example.com/finalizer"), b.object(strict, "marked"), b.object(strict, "bare"), b.object(strict, "clean")
	held.SetAnnotations(all)
	marked.SetAnnotations(all)
	bare.SetAnnotations(annotations)
	b.create(held, marked, bare, clean)
	version := b.live(clean).GetResourceVersion()

	result := b.must(func(o *Options) { o.RemoveMarkers = true })
	if have := result.of("stricts.test.dogear.dev"); have.Objects != 4 || have.Released != 1 || have.Cleaned != 3 {
		t.Errorf("got %+v", have)
	}
	b.finalizers(held, "dogear.certs.example.com/finalizer")
	for _, u := range []*unstructured.Unstructured{held, marked} {
		if have := b.live(u).GetAnnotations(); fmt.Sprint(have) != fmt.Sprint(others) {
			t.Errorf("%s has %v, want %v", u.GetName(), have, others)
		}
	}
	if have := b.live(bare).GetAnnotations(); len(have) > 0 {
		t.Errorf("got %v", have)
	}
	if b.live(clean).GetResourceVersion() != version {
		t.Error("an object with nothing to take off was written")
	}
}

// The kinds with finalizers are known, those with markers only as long as there are
// sets for them: that is told, and where to look is known.
func TestMarkersOfADeletedSet(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	forgotten := b.object(widget, "forgotten")
	forgotten.SetAnnotations(map[string]string{"dogear.dev/state": "Succeeded"})
	b.create(forgotten)
	markers := func(o *Options) { o.RemoveMarkers = true }
	result := b.must(markers)
	wantText(t, strings.Join(result.Notes, "\n"), "a set that was deleted before may have left some", "--all-resources")
	if len(b.live(forgotten).GetAnnotations()) != 1 {
		t.Error("its kind is named by nothing")
	}
	result = b.must(markers, func(o *Options) { o.AllResources = true })
	if len(b.live(forgotten).GetAnnotations()) > 0 || strings.Contains(strings.Join(result.Notes, "\n"), "Annotations were looked for") {
		t.Errorf("got %v, notes %q", b.live(forgotten).GetAnnotations(), result.Notes)
	}
}

// A run may be killed after any of its requests: another one goes on, and each
// time the ledger is there as long as objects are held.
func TestARunThatWasKilledIsFinishedByAnother(t *testing.T) {
	b := newBench(t)
	b.installed(strict, configMap)
	b.many(strict, 6)
	b.many(configMap, 3)
	b.set("ClusterHandlerSet", "killed", "stricts.test.dogear.dev")
	for last := int64(1); ; last++ {
		if last > 200 {
			t.Fatal("it does not end")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		config := b.wired(func(number int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
			if number > last {
				cancel(errors.New("killed"))
				return nil, errors.New("killed")
			}
			return pass.RoundTrip(req)
		})
		_, err := b.uninstallAs(ctx, config, func(o *Options) { o.Workers = 1 })
		cancel(nil)
		if err == nil {
			break
		}
		wantText(t, err.Error(), "killed", "run this again")
		if held := b.held(strict) + b.held(configMap); held > 0 && len(b.own()) != 5 {
			t.Fatalf("after %d requests %d objects are held, and of the service there is %q", last, held, b.own())
		}
		if last < 20 && last%4 == 0 { // as at the start
			b.drop()
			b.made = nil
			b.many(strict, 6)
			b.many(configMap, 3)
			b.set("ClusterHandlerSet", "killed", "stricts.test.dogear.dev")
		}
	}
	if n := b.held(strict) + b.held(configMap); n > 0 || len(b.own()) > 0 {
		t.Errorf("%d objects are held, %q", n, b.own())
	}
}

// The API server is killed in the middle, and comes back.
func TestTheAPIServerIsWaitedFor(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 600)
	var killed atomic.Bool
	var back sync.WaitGroup
	config := b.wired(func(number int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
		if number == 300 && killed.CompareAndSwap(false, true) {
			if err := b.cp.Process(rig.APIServer).Kill(); err != nil {
				b.Error(err)
			}
			back.Go(func() {
				if err := b.cp.Process(rig.APIServer).Restart(context.Background()); err != nil {
					b.Error(err)
				}
			})
		}
		return pass.RoundTrip(req)
	})
	result, err := b.uninstallAs(t.Context(), config)
	back.Wait()
	if err != nil || !killed.Load() {
		t.Fatalf("got %v, %v", err, result.Left)
	}
	if n := b.held(strict); n > 0 || result.of("stricts.test.dogear.dev").Released < 590 {
		t.Errorf("%d are held, %+v", n, result.of("stricts.test.dogear.dev"))
	}
}

// Answers that get lost, or say nothing about what was done, are asked about.
func TestUnknownOutcomes(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	b.many(strict, 40)
	b.create(b.object(strict, "deleted", ours))
	b.delete(b.made[len(b.made)-1])
	var patches, pages atomic.Int64
	config := b.wired(func(_ int64, req *http.Request, pass http.RoundTripper) (*http.Response, error) {
		if req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/stricts") && pages.Add(1) == 1 {
			return answer(req, &metav1.Status{Code: 410, Reason: metav1.StatusReasonExpired}), nil
		}
		if req.Method != http.MethodPatch {
			return pass.RoundTrip(req)
		}
		if strings.HasSuffix(req.URL.Path, "/strict-0007") {
			return answer(req, &metav1.Status{Code: 500, Reason: metav1.StatusReasonInternalError, Message: "secret sauce"}), nil
		}
		switch patches.Add(1) % 5 {
		case 0: // it is done, and the answer is lost
			reply, err := pass.RoundTrip(req)
			if err == nil {
				_ = reply.Body.Close()
			}
			return nil, errors.New("broken pipe")
		case 1: // done, and the server says that it does not know
			reply, err := pass.RoundTrip(req)
			if err == nil {
				_ = reply.Body.Close()
			}
			return answer(req, &metav1.Status{Code: 504, Reason: metav1.StatusReasonTimeout}), nil
		case 2: // not done
			return answer(req, &metav1.Status{Code: 504, Reason: metav1.StatusReasonTimeout}), nil
		case 3:
			return answer(req, &metav1.Status{Code: 409, Reason: metav1.StatusReasonConflict}), nil
		}
		return pass.RoundTrip(req)
	})
	result, err := b.uninstallAs(t.Context(), config)
	if !errors.Is(err, ErrLeft) {
		t.Fatalf("got %v", err)
	}
	wantLeft(t, result.Left, "/strict-0007: the API server answers 500 InternalError")
	if have := result.of("stricts.test.dogear.dev"); have.Released != 40 || have.Left != 1 {
		t.Errorf("got %+v", have)
	}
	if result.Unfinished.Total != 1 || b.held(strict) != 1 {
		t.Errorf("got %+v, %d are held", result.Unfinished, b.held(strict))
	}
}

// A controller that goes on without a Lease shows by what comes back.
func TestFinalizersThatComeBack(t *testing.T) {
	b := newBench(t)
	b.installed(strict)
	u := b.object(strict, "contested", ours)
	b.create(u)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if fresh := b.live(u); len(fresh.GetFinalizers()) == 0 {
				fresh.SetFinalizers([]string{ours})
				_ = b.admin.Update(t.Context(), fresh)
			}
		}
	}()
	_, err := b.uninstall(func(o *Options) { o.Settle = 300 * time.Millisecond })
	close(stop)
	<-ended
	if !errors.Is(err, errComesBack) {
		t.Errorf("got %v", err)
	}
	if len(b.own()) != 5 {
		t.Errorf("the ledger went although finalizers come back: %q", b.own())
	}
}
