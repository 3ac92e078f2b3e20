package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// podsOf are the Pods that objects make, each called after the object.
func podsOf(t *testing.T, objects []*unstructured.Unstructured) (pods []*corev1.Pod) {
	t.Helper()
	for _, o := range objects {
		switch o.GetKind() {
		case "Deployment":
			template := to[appsv1.Deployment](t, o).Spec.Template
			pods = append(pods, &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
		case "Job":
			template := to[batchv1.Job](t, o).Spec.Template
			pods = append(pods, &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec})
		case "Pod":
			pods = append(pods, to[corev1.Pod](t, o))
		default:
			continue
		}
		pods[len(pods)-1].Name = o.GetName()
	}
	return pods
}

func TestPodsAreRestricted(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, objects []*unstructured.Unstructured) {
		for _, pod := range podsOf(t, objects) {
			for _, problem := range unrestricted(pod) {
				t.Errorf("%s: %s", pod.Name, problem)
			}
		}
	})
}

// unrestricted says what of a Pod is not as it should be.
func unrestricted(pod *corev1.Pod) (problems []string) {
	check := func(ok bool, text string) {
		if !ok {
			problems = append(problems, text)
		}
	}
	s := pod.Spec
	check(!s.HostPID && !s.HostIPC, "it shares processes with the node")
	check(!s.HostNetwork || strings.HasSuffix(pod.Name, "-webhook"), "it shares the network with the node")
	security := s.SecurityContext
	if security == nil {
		return append(problems, "no securityContext")
	}
	check(security.RunAsNonRoot != nil && *security.RunAsNonRoot, "it may run as root")
	check(security.RunAsUser != nil && *security.RunAsUser == 65532 && security.RunAsGroup != nil && *security.RunAsGroup == 65532, "it does not run as 65532")
	check(security.SeccompProfile != nil && security.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "no seccomp profile")
	for _, volume := range s.Volumes {
		check(volume.HostPath == nil, "a volume of the node")
	}
	check(len(s.Containers) == 1 && len(s.InitContainers) == 0, "not one container")
	for _, c := range s.Containers {
		security := c.SecurityContext
		if security == nil {
			return append(problems, "a container without securityContext")
		}
		check(security.AllowPrivilegeEscalation != nil && !*security.AllowPrivilegeEscalation, "it may gain privileges")
		check(security.ReadOnlyRootFilesystem != nil && *security.ReadOnlyRootFilesystem, "its root can be written to")
		check(security.Capabilities != nil && slices.Equal(security.Capabilities.Drop, []corev1.Capability{"ALL"}) && len(security.Capabilities.Add) == 0, "capabilities")
		check(security.Privileged == nil && security.RunAsUser == nil, "it overrides what the Pod says")
		check(!c.Resources.Limits.Memory().IsZero() && !c.Resources.Requests.Memory().IsZero() && !c.Resources.Requests.Cpu().IsZero(), "no resources")
		check(c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError, "it does not tell why it failed")
	}
	return problems
}

// The API server's own check says so, too.
func TestPodsAreAdmittedToARestrictedNamespace(t *testing.T) {
	admin := rigtest.Client(t)
	restricted := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "restricted", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	if err := admin.Create(t.Context(), restricted); err != nil {
		t.Fatal(err)
	}
	bad := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "bad", Namespace: restricted.Name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "bad", Image: "bad"}}},
	}
	if err := admin.Create(t.Context(), bad, client.DryRunAll); err == nil {
		t.Fatal("the namespace is not restricted")
	}
	for name, file := range valuesSets(t) {
		for _, pod := range podsOf(t, rendered(t, "-f", file, "--set", "webhook.hostNetwork=false")) {
			pod.Namespace = restricted.Name
			if err := admin.Create(t.Context(), pod, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// What the rest of the project relies on, whatever the release is called.
func TestWhatAllPodsHave(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, objects []*unstructured.Unstructured) {
		for _, pod := range podsOf(t, objects) {
			c := pod.Spec.Containers[0]
			if pod.Spec.EnableServiceLinks == nil || *pod.Spec.EnableServiceLinks {
				t.Errorf("%s: Services set its environment, which has settings", pod.Name)
			}
			if pod.Spec.AutomountServiceAccountToken == nil || !*pod.Spec.AutomountServiceAccountToken || find(objects, "ServiceAccount", pod.Spec.ServiceAccountName) == nil {
				t.Errorf("%s: no token, or no ServiceAccount %q", pod.Name, pod.Spec.ServiceAccountName)
			}
			env := map[string]string{}
			for _, variable := range c.Env {
				if from := variable.ValueFrom; from != nil && from.FieldRef != nil {
					env[variable.Name] = from.FieldRef.FieldPath
				} else if from != nil && from.ResourceFieldRef != nil {
					env[variable.Name] = from.ResourceFieldRef.Resource
				}
			}
			if env["DOGEAR_NAMESPACE"] != "metadata.namespace" || env["GOMEMLIMIT"] != "limits.memory" {
				t.Errorf("%s: its environment has %v", pod.Name, env)
			}
			if len(c.Command) > 0 {
				t.Errorf("%s: a command in place of the image's", pod.Name)
			}
			for _, arg := range c.Args {
				if strings.Contains(arg, "address") {
					t.Errorf("%s: %s: an address is for the settings", pod.Name, arg)
				}
			}
		}
	})
}

func TestServiceAccountsMountNoTokenByThemselves(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, objects []*unstructured.Unstructured) {
		for _, o := range objects {
			if o.GetKind() != "ServiceAccount" {
				continue
			}
			if account := to[corev1.ServiceAccount](t, o); account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken {
				t.Errorf("%s does", o.GetName())
			}
		}
	})
}

// deployment renders the chart and returns one of its Deployments.
func deployment(t *testing.T, component string, args ...string) *appsv1.Deployment {
	t.Helper()
	o := find(rendered(t, args...), "Deployment", "dogear-"+component)
	if o == nil {
		t.Fatalf("no Deployment dogear-%s", component)
	}
	return to[appsv1.Deployment](t, o)
}

func TestDeployments(t *testing.T) {
	t.Parallel()
	for component, ports := range map[string]string{"controller": "metrics:8080 health:8081", "webhook": "webhook:9443 metrics:8080 health:8081"} {
		d := deployment(t, component)
		c := d.Spec.Template.Spec.Containers[0]
		if want := []string{"run", "--config=/etc/dogear/settings.yaml", "--roles=" + component}; !slices.Equal(c.Args, want) {
			t.Errorf("%s: args %v: want %v", component, c.Args, want)
		}
		for _, labels := range []map[string]string{d.Labels, d.Spec.Template.Labels} {
			if labels["dogear.dev/component"] != component {
				t.Errorf("%s: labels %v", component, labels)
			}
		}
		if want := map[string]string{"app.kubernetes.io/name": "dogear", "app.kubernetes.io/instance": "dogear", "app.kubernetes.io/component": component}; fmt.Sprint(d.Spec.Selector.MatchLabels) != fmt.Sprint(want) {
			t.Errorf("%s: the selector, which never may change, is %v", component, d.Spec.Selector.MatchLabels)
		}
		var got []string
		for _, port := range c.Ports {
			got = append(got, fmt.Sprintf("%s:%d", port.Name, port.ContainerPort))
		}
		if strings.Join(got, " ") != ports {
			t.Errorf("%s: ports %v: want %s", component, got, ports)
		}
		if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.StartupProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.ReadinessProbe.HTTPGet.Port.StrVal != "health" {
			t.Errorf("%s: probes %v %v %v", component, c.LivenessProbe, c.StartupProbe, c.ReadinessProbe)
		}
		if r := d.Spec.Strategy.RollingUpdate; r == nil || r.MaxUnavailable.IntValue() != 0 || r.MaxSurge.IntValue() != 1 {
			t.Errorf("%s: strategy %v", component, d.Spec.Strategy)
		}
		if s := d.Spec.Template.Spec.TopologySpreadConstraints; len(s) != 1 || s[0].TopologyKey != "kubernetes.io/hostname" || s[0].WhenUnsatisfiable != corev1.ScheduleAnyway {
			t.Errorf("%s: spread %v", component, s)
		}
		if d.Spec.Template.Labels["helm.sh/chart"] != "" {
			t.Errorf("%s: a change of the chart's version alone would replace Pods", component)
		}
	}
}

func TestPodsHaveTimeToStop(t *testing.T) {
	t.Parallel()
	args := []string{"--set", "settings.gracePeriod=1m30s,webhook.lameDuck=10s"}
	if got := *deployment(t, "controller", args...).Spec.Template.Spec.TerminationGracePeriodSeconds; got <= 90 {
		t.Errorf("the controller has %d s for a gracePeriod of 90 s", got)
	}
	if got := *deployment(t, "webhook", args...).Spec.Template.Spec.TerminationGracePeriodSeconds; got <= 100 {
		t.Errorf("the webhook has %d s for 100 s", got)
	}
}

// Without a value the program takes its own default.
func TestPodsHaveTimeToStopByDefault(t *testing.T) {
	t.Parallel()
	for component, without := range map[string]string{"controller": "settings.gracePeriod", "webhook": "settings.gracePeriod=null,webhook.lameDuck"} {
		want := *deployment(t, component).Spec.Template.Spec.TerminationGracePeriodSeconds
		if got := *deployment(t, component, "--set", without+"=null").Spec.Template.Spec.TerminationGracePeriodSeconds; got != want {
			t.Errorf("the %s has %d s without %s: want %d s", component, got, without, want)
		}
	}
}

func TestAChangeOfSettingsReplacesPods(t *testing.T) {
	t.Parallel()
	sum := func(args ...string) string {
		sum := deployment(t, "webhook", args...).Spec.Template.Annotations["checksum/settings"]
		if got := deployment(t, "controller", args...).Spec.Template.Annotations["checksum/settings"]; got != sum || sum == "" {
			t.Errorf("the checksums are %q and %q", got, sum)
		}
		return sum
	}
	if sum() == sum("--set", "settings.workers=3") {
		t.Error("the checksum is the same")
	}
	if sum() != sum("--set", "controller.replicas=3") {
		t.Error("the checksum has changed, and the settings have not")
	}
}

func TestTheNodesNetwork(t *testing.T) {
	t.Parallel()
	d := deployment(t, "webhook", "--set", "webhook.hostNetwork=true,webhook.port=9444,webhook.certificate.mode=secret,webhook.certificate.secretName=x")
	if s := d.Spec.Template.Spec; !s.HostNetwork || s.DNSPolicy != corev1.DNSClusterFirstWithHostNet || s.Containers[0].Ports[0].ContainerPort != 9444 {
		t.Errorf("it is on %v", s)
	}
	if r := d.Spec.Strategy.RollingUpdate; r.MaxSurge.IntValue() != 0 || r.MaxUnavailable.IntValue() != 1 {
		t.Errorf("two Pods would want the same port: %v", r)
	}
}

func TestNamesAreLookedUpAsValuesSay(t *testing.T) {
	t.Parallel()
	for set, want := range map[string]corev1.DNSPolicy{
		"": "", "webhook.hostNetwork=true": corev1.DNSClusterFirstWithHostNet, "webhook.hostNetwork=true,webhook.dnsPolicy=Default": corev1.DNSDefault,
	} {
		if got := deployment(t, "webhook", "--set", set).Spec.Template.Spec.DNSPolicy; got != want {
			t.Errorf("%s: %q: want %q", set, got, want)
		}
	}
	for _, pod := range podsOf(t, rendered(t, "-f", valuesSets(t)["everything-on"])) {
		if config := pod.Spec.DNSConfig; !strings.HasSuffix(pod.Name, "-webhook") && (config == nil || config.Options[0].Name != "ndots") {
			t.Errorf("%s: %v", pod.Name, config)
		}
	}
}

func TestReplicaSetsOfBefore(t *testing.T) {
	t.Parallel()
	for _, component := range []string{"controller", "webhook"} {
		for value, want := range map[string]int32{"10": 10, "0": 0} {
			if got := deployment(t, component, "--set", component+".revisionHistoryLimit="+value).Spec.RevisionHistoryLimit; got == nil || *got != want {
				t.Errorf("the %s keeps %v: want %d", component, got, want)
			}
		}
	}
}

func TestHooksAreScheduledAsValuesSay(t *testing.T) {
	t.Parallel()
	count := 0
	for _, pod := range podsOf(t, rendered(t, "-f", valuesSets(t)["everything-on"])) {
		if strings.HasSuffix(pod.Name, "-controller") || strings.HasSuffix(pod.Name, "-webhook") {
			continue
		}
		count++
		if s := pod.Spec; s.PriorityClassName != "system-cluster-critical" || s.Affinity == nil || s.DNSPolicy != corev1.DNSDefault {
			t.Errorf("%s: class %q, affinity %v, DNS %q", pod.Name, s.PriorityClassName, s.Affinity, s.DNSPolicy)
		}
	}
	if count != 3 {
		t.Errorf("%d hooks", count)
	}
}

func TestReplicasAreLeftToTheAutoscaler(t *testing.T) {
	t.Parallel()
	if d := deployment(t, "webhook", "--set", "webhook.autoscaling.enabled=true"); d.Spec.Replicas != nil {
		t.Errorf("each upgrade would set them to %d", *d.Spec.Replicas)
	}
}

func TestReplicasWithoutAValueAreTheDefaults(t *testing.T) {
	t.Parallel()
	for _, component := range []string{"controller", "webhook"} {
		want := *deployment(t, component).Spec.Replicas
		if got := *deployment(t, component, "--set", component+".replicas=null").Spec.Replicas; got != want {
			t.Errorf("%s: %d: want %d", component, got, want)
		}
		if got := *deployment(t, component, "--set", component+".replicas=0").Spec.Replicas; got != 0 {
			t.Errorf("%s: %d: want none", component, got)
		}
	}
}

func TestDisruptionBudgets(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  string
		want []string
	}{
		"one of the controller": {"", []string{"dogear-webhook"}},
		"one of each":           {"webhook.replicas=1", nil},
		"two of each":           {"controller.replicas=2", []string{"dogear-controller", "dogear-webhook"}},
		"scaled from two":       {"webhook.replicas=1,webhook.autoscaling.enabled=true", []string{"dogear-webhook"}},
		"scaled from one":       {"webhook.replicas=2,webhook.autoscaling.enabled=true,webhook.autoscaling.minReplicas=1", nil},
		"none wanted":           {"webhook.podDisruptionBudget.enabled=false", nil},
		"no webhook":            {"webhook.enabled=false", nil},
	} {
		var got []string
		for _, o := range rendered(t, "--set", test.set) {
			if o.GetKind() == "PodDisruptionBudget" {
				got = append(got, o.GetName())
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("0", 64)
	version := metadata(t, "dogear").AppVersion
	for set, want := range map[string]string{
		"":                                      "ghcr.io/dogear-dev/dogear:" + version,
		"image.tag=v9":                          "ghcr.io/dogear-dev/dogear:v9",
		"image.tag=v9,image.digest=" + digest:   "ghcr.io/dogear-dev/dogear@" + digest,
		"image.registry=,image.repository=mine": "mine:" + version,
		"image=null":                            "dogear-dev/dogear:" + version,
		"image.repository=null":                 "ghcr.io/dogear-dev/dogear:" + version,
		"image.repository=":                     "ghcr.io/dogear-dev/dogear:" + version,
	} {
		for _, pod := range podsOf(t, rendered(t, "--set", set)) {
			if got := pod.Spec.Containers[0].Image; got != want {
				t.Errorf("%s: %s has %s: want %s", set, pod.Name, got, want)
			}
		}
	}
}
