package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
)

func always(group, name string, r Result) Check {
	return Check{Group: group, Name: name, Link: "link", Run: func(context.Context) Result { return r }}
}

var several = []Check{
	always("one", "good", passed("as it should be")),
	always("two", "doubtful", warned("a\nb").hint("look at it\ntwice").about("x", "y")),
	always("one", "bad", failed("%d of it", 3).hint("mend it")),
	always("two", "hidden", skipped("you may not look")),
}

func TestTextIsPlainWithoutATerminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), "v1", several).Text(&out, Style{}); err != nil {
		t.Fatal(err)
	}
	const want = `one
  ok   good: as it should be
  FAIL bad: 3 of it
       hint: mend it
       see: https://github.com/dogear-dev/dogear/blob/main/docs/troubleshooting.md#link

two
  warn doubtful: a
       b
       - x
       - y
       hint: look at it
             twice
       see: https://github.com/dogear-dev/dogear/blob/main/docs/troubleshooting.md#link
  skip hidden: you may not look

FAIL Something is wrong: 1 check failed, 1 warning, 1 skipped, 1 ok
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestTextOnATerminalHasIconsAndColours(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), "v1", several[:1]).Text(&out, Style{Color: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[32m✓\x1b[0m good: as it should be", "No fault was found"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %q", want, out.String())
		}
	}
}

func TestJSONIsOneDocument(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), "v1", several).JSON(&out); err != nil {
		t.Fatal(err)
	}
	var have map[string]any
	if err := json.Unmarshal([]byte(out.String()), &have); err != nil {
		t.Fatal(err)
	}
	link := Page + "#link"
	want := map[string]any{
		"version": "v1",
		"groups": []any{
			map[string]any{"name": "one", "checks": []any{
				map[string]any{"name": "good", "result": "ok", "message": "as it should be", "link": link},
				map[string]any{"name": "bad", "result": "failed", "message": "3 of it", "hint": "mend it", "link": link},
			}},
			map[string]any{"name": "two", "checks": []any{
				map[string]any{"name": "doubtful", "result": "warning", "message": "a\nb", "hint": "look at it\ntwice", "link": link, "objects": []any{"x", "y"}},
				map[string]any{"name": "hidden", "result": "skipped", "message": "you may not look", "link": link},
			}},
		},
		"summary": map[string]any{"result": "failed", "ok": 1.0, "warnings": 1.0, "failed": 1.0, "skipped": 1.0},
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("got\n%s\nwant\n%v", out.String(), want)
	}
}

func TestAWarningIsNoFailure(t *testing.T) {
	t.Parallel()
	r := run(t.Context(), "v1", several[1:2])
	if !r.OK() || r.Summary.Verdict != Warning {
		t.Errorf("got %+v", r.Summary)
	}
	if r := run(t.Context(), "v1", several); r.OK() || r.Summary.Verdict != Failed {
		t.Errorf("got %+v", r.Summary)
	}
	if r := run(t.Context(), "v1", several[3:]); !r.OK() || r.Summary.Verdict != OK {
		t.Errorf("got %+v", r.Summary)
	}
}

func TestNothingIsCheckedWithoutWhatIsEssential(t *testing.T) {
	t.Parallel()
	essential := several[2]
	essential.Essential = true
	r := run(t.Context(), "v1", []Check{essential, several[0], several[1]})
	if r.Summary.Skipped != 2 || r.Groups[1].Checks[0].Message != "not looked at: first mend one: bad" {
		t.Errorf("got %+v", r)
	}
	var out strings.Builder
	if err := r.Text(&out, Style{}); err != nil || strings.Contains(out.String(), "two") || !strings.Contains(out.String(), "1 check failed, 2 not looked at") {
		t.Errorf("got %s, %v", out.String(), err)
	}
}

func TestWhatTheTimeWasTooShortForHasFailed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	slow := Check{Group: "one", Name: "slow", Run: func(context.Context) Result {
		cancel()
		return skipped("%s", context.Canceled)
	}}
	r := run(ctx, "v1", []Check{several[0], slow, several[1]})
	if r.Summary.OK != 1 || r.Summary.Failed != 1 || r.Summary.Skipped != 1 || !strings.Contains(r.Groups[0].Checks[1].Hint, "--timeout") {
		t.Errorf("got %+v", r)
	}
}

func TestAResultNamesTenObjects(t *testing.T) {
	t.Parallel()
	var all []string
	for i := range 13 {
		all = append(all, fmt.Sprint(i))
	}
	if have := failed("x").about(all...); len(have.Objects) != 10 || have.Objects[9] != "9" || have.More != 3 {
		t.Errorf("got %+v", have)
	}
	if have := failed("x").about(all[:10]...); len(have.Objects) != 10 || have.More != 0 {
		t.Errorf("got %+v", have)
	}
	var out strings.Builder
	if err := run(t.Context(), "v1", []Check{always("one", "many", failed("x").about(all...))}).Text(&out, Style{}); err != nil ||
		!strings.Contains(out.String(), "       - 9\n       - and 3 more\n       hint: ") {
		t.Errorf("%v, got %s", err, out.String())
	}
}

// rounds are reports, one after another.
func rounds(failing ...[]string) func(context.Context) *Report {
	n := 0
	return func(ctx context.Context) *Report {
		now := failing[min(n, len(failing)-1)]
		n++
		checks := []Check{several[0]}
		for _, name := range now {
			checks = append(checks, always("group", name, failed("it is broken\nas ever")))
		}
		return run(ctx, "v1", checks)
	}
}

func TestWaitEndsWhenNothingFails(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakeClock(time.Now())
	var told []string
	done := make(chan *Report)
	go func() {
		done <- wait(t.Context(), c, rounds([]string{"a", "b"}, []string{"a", "b"}, []string{"b"}, nil), func(failures []string) {
			told = append(told, strings.Join(failures, ", "))
		})
	}()
	for {
		select {
		case r := <-done:
			want := []string{"group: a: it is broken, group: b: it is broken", "group: b: it is broken"}
			if !r.OK() || !slices.Equal(told, want) {
				t.Errorf("told %q, report %+v", told, r)
			}
			return
		default:
			if c.HasWaiters() {
				c.Step(again)
			}
		}
	}
}

func TestWaitEndsWithTheTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	failing := rounds([]string{"a"})
	r := wait(ctx, clocktesting.NewFakeClock(time.Now()), func(ctx context.Context) *Report {
		if n++; n == 1 {
			defer cancel() // the time is over after the first round
		}
		return failing(ctx)
	}, func([]string) {})
	if r.OK() || n != 1 || r.Groups[1].Checks[0].Message != "it is broken\nas ever" {
		t.Errorf("%d rounds, report %+v", n, r)
	}
}

func TestSettingsAreReadAsTheProcessReadsThem(t *testing.T) {
	t.Parallel()
	const file = `
webhook: {service: hooks, servicePort: 8443, certificateDir: /etc/dogear-tls, injectCAFrom: ns/name}
namespaces: [a, b]
somethingOfALaterRelease: {x: [1]}
`
	process := &corev1.Container{
		Args: []string{"run", "--config=/etc/dogear/settings.yaml", "--webhook-service=other"},
		Env:  []corev1.EnvVar{{Name: "DOGEAR_LEADER_ELECT", Value: "false"}, {Name: "DOGEAR_NAMESPACE", ValueFrom: &corev1.EnvVarSource{}}, {Name: "DOGEAR_CALLBACK_ADDRESS", Value: ":9444"}},
	}
	have, err := settingsOf(process, file)
	want := settings{namespaces: []string{"a", "b"}, service: "other", servicePort: "8443", certificateDir: "/etc/dogear-tls", injected: true, callback: true}
	if err != nil || !reflect.DeepEqual(have, want) {
		t.Errorf("got %+v, %v", have, err)
	}
	if have, err := settingsOf(&corev1.Container{}, ""); err != nil || !have.leaderElect || have.hasWebhook() {
		t.Errorf("of nothing: %+v, %v", have, err)
	}
	if _, err := settingsOf(process, "{"); err == nil {
		t.Error("no error for what is no YAML")
	}
	pod := &corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "tls"}, {Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "x-settings"}}}},
	}}
	process.VolumeMounts = []corev1.VolumeMount{{Name: "tls", MountPath: "/etc/dogear-tls"}, {Name: "settings", MountPath: "/etc/dogear"}}
	if name, key := settingsMap(pod, process); name != "x-settings" || key != "settings.yaml" {
		t.Errorf("the file is in %q, %q", name, key)
	}
}

func TestRightsInWords(t *testing.T) {
	t.Parallel()
	n := right{group: "g.io", resource: "things", namespace: "ns"}
	rights := slices.Concat(n.several("get", "list"), right{group: "g.io", resource: "things", subresource: "status"}.several("patch"),
		right{resource: "secrets", name: "key"}.several("get", "update"))
	want := []string{"get, list things.g.io in namespace ns", "patch things.g.io/status", "get, update secrets key"}
	if have := inWords(rights); !slices.Equal(have, want) {
		t.Errorf("got %q", have)
	}
}

func TestResultsOfResourcesTogether(t *testing.T) {
	t.Parallel()
	good, bad, unknown := passed("a: stamped"), failed("b: not stamped").hint("mend"), skipped("c: nothing to try").hint("--object")
	for _, c := range []struct {
		all  []Result
		want Result
	}{
		{nil, skipped("no set declares a resource")},
		{[]Result{good}, Result{Verdict: OK, Message: "objects come back stamped"}},
		{[]Result{good, unknown}, Result{Verdict: OK, Message: "objects of 1 of 2 resources come back stamped", Hint: "--object"}},
		{[]Result{unknown}, Result{Verdict: Skipped, Message: "no object could be tried", Hint: "--object"}},
		{[]Result{good, unknown, bad}, Result{Verdict: Failed, Message: "objects come back without a stamp: the webhook was not called, or has not answered in time", Hint: "mend"}},
	} {
		have := together(slices.Clone(c.all))
		if len(have.Objects) != len(c.all) {
			t.Errorf("objects %q", have.Objects)
		}
		have.Objects = nil
		if !reflect.DeepEqual(have, c.want) {
			t.Errorf("got %+v, want %+v", have, c.want)
		}
	}
}

func TestACopyIsBornAnew(t *testing.T) {
	t.Parallel()
	service := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Service", "status": map[string]any{"loadBalancer": map[string]any{}},
		"metadata": map[string]any{
			"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "finalizers": []any{"x/y"}, "ownerReferences": []any{map[string]any{}},
			"labels": map[string]any{"a": "b"}, "annotations": map[string]any{"dogear.dev/state": "Failed", "dogear.other/x": "y", "c": "d"},
		},
		"spec": map[string]any{"clusterIP": "10.0.0.1", "clusterIPs": []any{"10.0.0.1"}, "healthCheckNodePort": int64(3), "ports": []any{map[string]any{"port": int64(80), "nodePort": int64(30000)}}},
	}}
	have := newborn(service)
	name := have.GetName()
	if !strings.HasPrefix(name, "dogear-check-") {
		t.Errorf("its name is %q", name)
	}
	want := map[string]any{
		"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": name, "namespace": "shop", "labels": map[string]any{"a": "b"}, "annotations": map[string]any{"c": "d"}},
		"spec":     map[string]any{"ports": []any{map[string]any{"port": int64(80)}}},
	}
	if !reflect.DeepEqual(have.Object, want) {
		t.Errorf("got %v", have.Object)
	}
	if service.GetUID() != "u" || service.GetAnnotations()["dogear.dev/state"] == "" {
		t.Errorf("the original was changed: %v", service.Object)
	}
}

func TestWhatCannotBeReadIsSkippedOrFailed(t *testing.T) {
	t.Parallel()
	r := &round{}
	resource := schema.GroupResource{Group: "g.io", Resource: "things"}
	for err, want := range map[error]Verdict{
		apierrors.NewForbidden(resource, "x", errors.New("no")): Skipped,
		apierrors.NewNotFound(resource, "x"):                    Skipped,
		errNoSets:                                               Skipped,
		apierrors.NewTimeoutError("slow", 1):                    Failed,
		errors.New("connection refused"):                        Failed,
	} {
		if have := r.unread(err); have.Verdict != want || have.Message == "" || have.Hint == "" && want == Failed {
			t.Errorf("%v: %+v", err, have)
		}
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		49 * time.Hour: "2d1h", 90 * time.Minute: "1h30m", 65 * time.Second: "1m5s", 1500 * time.Millisecond: "1s", 0: "0s",
	} {
		if have := span(d); have != want {
			t.Errorf("%s: %s, want %s", d, have, want)
		}
	}
}
