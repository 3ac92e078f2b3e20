package render

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	_ "sigs.k8s.io/controller-runtime/pkg/controller" // registers its metrics
)

// others are metrics that neither the service nor controller-runtime has.
var others = []string{
	"up", // Prometheus's own
	"apiserver_admission_webhook_fail_open_count",
}

// metricsKnown are those of docs/metrics.md, of controller-runtime and others.
func metricsKnown(t *testing.T) []string {
	t.Helper()
	known := slices.Clone(others)
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(read(t, "docs", "metrics.md"), -1) {
		known = append(known, row[1])
	}
	if len(known) < 10 {
		t.Fatalf("docs/metrics.md has %v", known)
	}
	registry, ok := metrics.Registry.(prometheus.Collector)
	if !ok {
		t.Fatal("the registry tells nothing about itself")
	}
	descriptions := make(chan *prometheus.Desc)
	go func() { registry.Describe(descriptions); close(descriptions) }()
	for description := range descriptions {
		if name := regexp.MustCompile(`fqName: "([a-z0-9_]+)"`).FindStringSubmatch(description.String()); name != nil {
			known = append(known, name[1])
		}
	}
	return known
}

// metric is what stands before the braces of a selector.
var metric = regexp.MustCompile(`([a-z_:][a-z0-9_:]*)\{`)

// unknownIn lists metrics of an expression that are not known.
func unknownIn(expression string, known []string) (unknown []string) {
	found := metric.FindAllStringSubmatch(expression, -1)
	if len(found) == 0 {
		return []string{"(none)"}
	}
	for _, match := range found {
		name := match[1]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && slices.Contains(known, base) {
				name = base
			}
		}
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

type alert struct {
	name, expression, runbook string
	labels, annotations       map[string]string
}

func alerts(t *testing.T, args ...string) (all []alert) {
	t.Helper()
	rule := find(rendered(t, append([]string{"--set", "metrics.prometheusRule.enabled=true"}, args...)...), "PrometheusRule", "dogear")
	groups, _, _ := unstructured.NestedSlice(rule.Object, "spec", "groups")
	for _, group := range groups {
		rules, _, _ := unstructured.NestedSlice(group.(map[string]any), "rules")
		for _, r := range rules {
			r := r.(map[string]any)
			a := alert{}
			a.name, _, _ = unstructured.NestedString(r, "alert")
			a.expression, _, _ = unstructured.NestedString(r, "expr")
			a.labels, _, _ = unstructured.NestedStringMap(r, "labels")
			a.annotations, _, _ = unstructured.NestedStringMap(r, "annotations")
			a.runbook = a.annotations["runbook_url"]
			all = append(all, a)
		}
	}
	return all
}

var alertNames = []string{
	"DogearDown", "DogearNoLeader", "DogearBlocked", "DogearFailed", "DogearOldestPending",
	"DogearCertificateExpiry", "DogearAdmissionSlow", "DogearAdmissionBusy", "DogearAdmissionError", "DogearFailOpen",
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	known, seen := metricsKnown(t), map[string]bool{}
	for _, a := range alerts(t) {
		seen[a.name] = true
		if unknown := unknownIn(a.expression, known); len(unknown) > 0 {
			t.Errorf("%s: %s: no metric %v", a.name, a.expression, unknown)
		}
		for _, brackets := range []string{"()", "{}", "[]"} {
			if strings.Count(a.expression, brackets[:1]) != strings.Count(a.expression, brackets[1:]) {
				t.Errorf("%s: %s: %s are out of balance", a.name, a.expression, brackets)
			}
		}
		if want := "https://github.com/dogear-dev/dogear/blob/main/docs/troubleshooting.md#" + strings.ToLower(a.name); a.runbook != want {
			t.Errorf("%s: runbook %s: want %s", a.name, a.runbook, want)
		}
		if a.annotations["summary"] == "" || a.annotations["description"] == "" || !slices.Contains([]string{"warning", "critical"}, a.labels["severity"]) {
			t.Errorf("%s: %v %v", a.name, a.annotations, a.labels)
		}
	}
	for _, name := range alertNames {
		if !seen[name] {
			t.Errorf("no alert %s", name)
		}
	}
	if len(seen) != len(alertNames) {
		t.Errorf("there are %v", seen)
	}
}

func TestAlertsCanBeChosen(t *testing.T) {
	t.Parallel()
	names := func(args ...string) (names []string) {
		for _, a := range alerts(t, args...) {
			names = append(names, a.name)
		}
		return slices.Compact(names)
	}
	if got := names("--set", "webhook.enabled=false"); slices.ContainsFunc(got, func(name string) bool {
		return strings.Contains(name, "Admission") || name == "DogearFailOpen" || name == "DogearCertificateExpiry"
	}) {
		t.Errorf("without a webhook there are %v", got)
	}
	if got := names("--set", "metrics.prometheusRule.disabled={DogearFailed,DogearDown}"); slices.Contains(got, "DogearFailed") || slices.Contains(got, "DogearDown") || len(got) != len(alertNames)-2 {
		t.Errorf("without two there are %v", got)
	}
	for _, a := range alerts(t, "--set", "metrics.prometheusRule.oldestPendingSeconds=60,metrics.prometheusRule.alertLabels.team=platform") {
		if a.labels["team"] != "platform" {
			t.Errorf("%s: labels %v", a.name, a.labels)
		}
		if a.name == "DogearOldestPending" && !strings.HasSuffix(a.expression, "> 60") {
			t.Errorf("%s", a.expression)
		}
	}
}

// A severity of users is one that their routes know.
func TestLabelsOfUsersGoBeforeThoseOfAlerts(t *testing.T) {
	t.Parallel()
	for _, a := range alerts(t, "--set", "metrics.prometheusRule.alertLabels.severity=page,metrics.prometheusRule.alertLabels.level=2,metrics.prometheusRule.alertLabels.none=null") {
		if a.labels["severity"] != "page" || a.labels["level"] != "2" || a.name == "DogearDown" && a.labels["component"] == "" {
			t.Errorf("%s: labels %v", a.name, a.labels)
		}
	}
}

// What is scraped has the job that alerts are on, however Prometheus finds it.
func TestAlertsAreOnWhatIsScraped(t *testing.T) {
	t.Parallel()
	job := `job="dogear-metrics",namespace="dogear"`
	for _, a := range alerts(t) {
		if !strings.Contains(a.expression, job) && a.name != "DogearFailOpen" {
			t.Errorf("%s: %s: want %s", a.name, a.expression, job)
		}
	}
	objects := rendered(t, "--set", "metrics.serviceMonitor.enabled=true")
	labels, _, _ := unstructured.NestedStringMap(find(objects, "ServiceMonitor", "dogear").Object, "spec", "selector", "matchLabels")
	matched := 0
	for _, o := range objects {
		if o.GetKind() == "Service" && k8slabels.SelectorFromSet(labels).Matches(k8slabels.Set(o.GetLabels())) {
			matched++
			if o.GetName() != "dogear-metrics" { // the name of the Service is the job
				t.Errorf("%s is scraped, too", o.GetName())
			}
		}
	}
	if matched != 1 {
		t.Errorf("%d Services have the labels %v", matched, labels)
	}

	objects = rendered(t, "--set", "metrics.podMonitor.enabled=true,metrics.service.enabled=false,crds.migrate=true")
	monitor := find(objects, "PodMonitor", "dogear")
	endpoints, _, _ := unstructured.NestedSlice(monitor.Object, "spec", "podMetricsEndpoints")
	if want := []any{map[string]any{"port": "metrics", "relabelings": []any{map[string]any{"targetLabel": "job", "replacement": "dogear-metrics"}}}}; !reflect.DeepEqual(endpoints, want) {
		t.Errorf("endpoints %v: want %v", endpoints, want)
	}
	labels, _, _ = unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	for _, pod := range podsOf(t, objects) {
		_, serves := map[string]bool{"dogear-controller": true, "dogear-webhook": true}[pod.Name]
		if got := k8slabels.SelectorFromSet(labels).Matches(k8slabels.Set(pod.Labels)); got != serves {
			t.Errorf("%s is scraped: %t", pod.Name, got)
		}
	}
}

// Each alert has a section of its name, to which its link leads.
func TestRunbooksAreThere(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "troubleshooting.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range alertNames {
		if !regexp.MustCompile(`(?m)^#+ ` + name + `$`).Match(page) {
			t.Errorf("docs/troubleshooting.md has no section %s", name)
		}
	}
}

func TestTheDashboard(t *testing.T) {
	t.Parallel()
	object := find(rendered(t, "--set", "metrics.dashboard.enabled=true"), "ConfigMap", "dogear-dashboard")
	if object.GetLabels()["grafana_dashboard"] != "1" {
		t.Errorf("labels %v", object.GetLabels())
	}
	text, _, _ := unstructured.NestedString(object.Object, "data", "dogear.json")
	var dashboard struct {
		Title, UID string
		Templating struct{ List []struct{ Name string } }
		Panels     []struct {
			ID          int
			Type, Title string
			Description string
			GridPos     struct{ X, Y, W, H int }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	known := metricsKnown(t)
	if dashboard.UID == "" || len(dashboard.Templating.List) != 3 {
		t.Errorf("uid %q, variables %v", dashboard.UID, dashboard.Templating.List)
	}
	ids, used := map[int]bool{}, ""
	for _, panel := range dashboard.Panels {
		if ids[panel.ID] {
			t.Errorf("%s: the id %d is there twice", panel.Title, panel.ID)
		}
		ids[panel.ID] = true
		if panel.Type == "row" {
			continue
		}
		if len(panel.Targets) == 0 || panel.Description == "" || panel.GridPos.X+panel.GridPos.W > 24 {
			t.Errorf("%s: %v", panel.Title, panel)
		}
		for _, target := range panel.Targets {
			used += target.Expr
			if unknown := unknownIn(target.Expr, known); len(unknown) > 0 {
				t.Errorf("%s: %s: no metric %v", panel.Title, target.Expr, unknown)
			}
			if !strings.Contains(target.Expr, `job="$job",namespace="$namespace"`) && !strings.Contains(target.Expr, "apiserver_") {
				t.Errorf("%s: %s: of whichever installation", panel.Title, target.Expr)
			}
		}
	}
	for _, name := range known {
		if strings.HasPrefix(name, "dogear_") && !strings.Contains(used, name) {
			t.Errorf("%s is in no panel", name)
		}
	}
}
