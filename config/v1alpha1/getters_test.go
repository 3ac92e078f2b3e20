package v1alpha1_test

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

func span(d time.Duration) *v1alpha1.Duration { return &v1alpha1.Duration{Duration: d} }

func TestHandlerIDsTellTheSet(t *testing.T) {
	t.Parallel()
	if got := v1alpha1.HandlerID(typed(t, variant{}.build(t)), "a"); got != "base/a" {
		t.Errorf("got %q", got)
	}
	if got := v1alpha1.HandlerID(typed(t, variant{namespaced: true}.build(t)), "a"); got != "default/base/a" {
		t.Errorf("got %q", got)
	}
}

func TestTimeoutsAreWithinTheAttempt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		http v1alpha1.HTTP
		want [3]time.Duration
	}{
		"defaults":        {v1alpha1.HTTP{}, [3]time.Duration{10 * time.Second, 3 * time.Second, 10 * time.Second}},
		"a short attempt": {v1alpha1.HTTP{Timeout: span(time.Second)}, [3]time.Duration{time.Second, time.Second, time.Second}},
		"all set": {v1alpha1.HTTP{Timeout: span(time.Minute), ConnectTimeout: span(time.Second), HeaderTimeout: span(2 * time.Second)},
			[3]time.Duration{time.Minute, time.Second, 2 * time.Second}},
	} {
		total, connect, header := test.http.Timeouts()
		if got := [3]time.Duration{total, connect, header}; got != test.want {
			t.Errorf("%s: got %v: want %v", name, got, test.want)
		}
	}
}

func TestDelaysHaveDefaults(t *testing.T) {
	t.Parallel()
	text, whole, broken := intstr.FromString("1.5"), intstr.FromInt32(3), intstr.FromString("NaN")
	for name, test := range map[string]struct {
		retry            *v1alpha1.Retry
		initial, longest time.Duration
		factor           float64
	}{
		"nothing set":           {nil, time.Second, 5 * time.Minute, 2},
		"a long initial":        {&v1alpha1.Retry{Initial: span(time.Hour)}, time.Hour, time.Hour, 2},
		"a short max":           {&v1alpha1.Retry{Max: span(time.Millisecond)}, time.Millisecond, time.Millisecond, 2},
		"a factor in text":      {&v1alpha1.Retry{Factor: &text}, time.Second, 5 * time.Minute, 1.5},
		"a whole factor":        {&v1alpha1.Retry{Factor: &whole}, time.Second, 5 * time.Minute, 3},
		"a factor that is none": {&v1alpha1.Retry{Factor: &broken}, time.Second, 5 * time.Minute, 2},
	} {
		initial, factor, longest := test.retry.Delays()
		if initial != test.initial || longest != test.longest || factor != test.factor {
			t.Errorf("%s: got %s, %v, %s", name, initial, factor, longest)
		}
	}
}

func TestEndpointsHaveDefaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		http   v1alpha1.HTTP
		scheme string
		port   int32
		path   string
	}{
		"a service":           {v1alpha1.HTTP{Service: &v1alpha1.ServiceReference{}}, "https", 443, "/"},
		"a plaintext service": {v1alpha1.HTTP{Service: &v1alpha1.ServiceReference{}, Plaintext: true}, "http", 80, "/"},
		"all set":             {v1alpha1.HTTP{Service: &v1alpha1.ServiceReference{Port: 1, Path: "/a"}, Plaintext: true}, "http", 1, "/a"},
		"a url":               {v1alpha1.HTTP{URL: "https://a", Plaintext: true}, "https", 0, "/"},
	} {
		h := test.http
		if h.Scheme() != test.scheme || h.ServicePort() != test.port || h.ServicePath() != test.path {
			t.Errorf("%s: got %s, %d, %s", name, h.Scheme(), h.ServicePort(), h.ServicePath())
		}
		if h.InFlight() != 8 {
			t.Errorf("%s: got %d in flight", name, h.InFlight())
		}
	}
}

func TestANamespacedSetNeverLeavesItsNamespace(t *testing.T) {
	t.Parallel()
	http := v1alpha1.HTTP{Service: &v1alpha1.ServiceReference{Namespace: "hooks"}}
	named, unnamed := &v1alpha1.SecretReference{Namespace: "other"}, &v1alpha1.SecretReference{}
	cluster, own := &v1alpha1.ClusterHandlerSet{}, &v1alpha1.HandlerSet{}
	own.Namespace = "mine"
	for name, test := range map[string]struct{ got, want string }{
		"service":               {http.ServiceNamespace(cluster), "hooks"},
		"service, namespaced":   {http.ServiceNamespace(own), "mine"},
		"named secret":          {http.SecretNamespace(cluster, named), "other"},
		"unnamed secret":        {http.SecretNamespace(cluster, unnamed), "hooks"},
		"named, namespaced":     {http.SecretNamespace(own, named), "mine"},
		"unnamed, namespaced":   {http.SecretNamespace(own, unnamed), "mine"},
		"no service, no secret": {(&v1alpha1.HTTP{}).SecretNamespace(cluster, unnamed), ""},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %q: want %q", name, test.got, test.want)
		}
	}
}

func TestPlacesHaveDefaults(t *testing.T) {
	t.Parallel()
	h := v1alpha1.Handler{ID: "a"}
	if h.StatusPath() != "a" || h.ConditionType() != "" || h.Status.Place() != v1alpha1.TargetAuto || h.Retry.Policy() != v1alpha1.ErrorRetry {
		t.Errorf("got %s, %s", h.StatusPath(), h.ConditionType())
	}
	h.Status = &v1alpha1.StatusTarget{Condition: true}
	if h.StatusPath() != "a" || h.ConditionType() != "a" || h.Status.Place() != v1alpha1.TargetAuto {
		t.Errorf("got %s, %s", h.StatusPath(), h.ConditionType())
	}
	h.Status = &v1alpha1.StatusTarget{Condition: true, ConditionType: "B", Path: "c.d", Target: v1alpha1.TargetStatus}
	if h.StatusPath() != "c.d" || h.ConditionType() != "B" || h.Status.Place() != v1alpha1.TargetStatus {
		t.Errorf("got %s, %s", h.StatusPath(), h.ConditionType())
	}
	var defaults *v1alpha1.Defaults
	if defaults.OnUpdate() || !(&v1alpha1.Defaults{Operations: []v1alpha1.DefaultsOperation{"Create", "Update"}}).OnUpdate() {
		t.Error("OnUpdate")
	}
}

func TestDurationsAreText(t *testing.T) {
	t.Parallel()
	var d v1alpha1.Duration
	if err := json.Unmarshal([]byte(`"1h30m"`), &d); err != nil || d.Duration != 90*time.Minute {
		t.Errorf("got %s, %v", d, err)
	}
	if text, err := json.Marshal(d); err != nil || string(text) != `"1h30m0s"` {
		t.Errorf("got %s, %v", text, err)
	}
	for _, bad := range []string{`"10 minutes"`, `10`, `""`, `null`, `"NaN"`, `"-1s"`} {
		if err := json.Unmarshal([]byte(bad), &d); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestReviewsKeepWhatTheyAreGiven(t *testing.T) {
	t.Parallel()
	const text = `{"kind":"HandlerReview","apiVersion":"dogear.dev/v1alpha1","response":{"uid":"u","outcome":"Retrying",` +
		`"reason":"Busy","message":"later","after":"30s","status":{"big":9007199254740993},` +
		`"patch":{"labels":{"a":"b","c":null},"spec":{"size":1,"text":null},"fields":{"data":{"k":"v"}}}}}`
	var review v1alpha1.HandlerReview
	if err := json.Unmarshal([]byte(text), &review); err != nil {
		t.Fatal(err)
	}
	r := review.Response
	if c, ok := r.Patch.Labels["c"]; !ok || c != nil || string(r.Patch.Spec["text"]) != "null" {
		t.Errorf("got %+v: want nulls that remove", r.Patch)
	}
	if again, err := json.Marshal(review); err != nil || string(again) != text {
		t.Errorf("got  %s, %v\nwant %s", again, err, text)
	}
}
