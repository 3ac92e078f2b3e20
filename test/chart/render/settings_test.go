package render

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/controller/sets"
)

// known are the settings of the release before this one. Its program must start
// with the file that this chart makes, where no value is set.
var known = []string{
	"roles", "namespace", "workers", "gracePeriod", "budget.marker", "budget.payload",
	"leaderElect", "leaseDuration", "renewDeadline", "retryPeriod",
	"metricsAddress", "healthAddress", "ignoreAnnotations",
	"namespacedResources", "allowSecrets", "urlPrefixes", "allowedNetworks", "deniedNetworks", "allowLoopback",
	"webhook.address", "webhook.service", "webhook.servicePort", "webhook.url", "webhook.certificateDir", "webhook.secret",
	"webhook.controllerUsers", "webhook.fail", "webhook.timeout", "webhook.lameDuck",
	"callback.address", "callback.service", "callback.servicePort", "callback.url", "callback.certificateDir",
	"log.level", "log.format",
}

func TestTheReleaseBeforeKnowsTheSettings(t *testing.T) {
	t.Parallel()
	for _, path := range paths(t, settingsFile(t, rendered(t))) {
		if !slices.Contains(known, path) {
			t.Errorf("%s is new: leave it out where it has its default", path)
		}
	}
}

// settingsFile is the file in the ConfigMap.
func settingsFile(t *testing.T, objects []*unstructured.Unstructured) string {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == "ConfigMap" && strings.HasSuffix(o.GetName(), "-settings") {
			return to[corev1.ConfigMap](t, o).Data["settings.yaml"]
		}
	}
	t.Fatal("there are no settings")
	return ""
}

// paths are the settings in a file.
func paths(t *testing.T, file string) (paths []string) {
	t.Helper()
	root := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(file), &root); err != nil {
		t.Fatal(err)
	}
	for key, value := range root {
		group, ok := value.(map[string]any)
		if !ok {
			paths = append(paths, key)
			continue
		}
		for inner := range group {
			paths = append(paths, key+"."+inner)
		}
	}
	return paths
}

// load reads the settings as the program in a Pod does.
func load(t *testing.T, file string, pod *corev1.Pod) (*config.Loaded, error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	loader := config.Register(flags)
	args := slices.Clone(pod.Spec.Containers[0].Args[1:])
	for i, arg := range args {
		args[i] = strings.Replace(arg, "--config=/etc/dogear/settings.yaml", "--config="+name, 1)
	}
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return loader.Load([]string{"DOGEAR_NAMESPACE=" + namespace})
}

func TestTheProgramAcceptsTheSettings(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, objects []*unstructured.Unstructured) {
		file, count := settingsFile(t, objects), 0
		for _, pod := range podsOf(t, objects) {
			if pod.Spec.Containers[0].Args[0] != "run" {
				continue
			}
			count++
			s, err := load(t, file, pod)
			if err != nil {
				t.Errorf("%s: %v", pod.Name, err)
				continue
			}
			for _, port := range pod.Spec.Containers[0].Ports {
				address := map[string]string{"webhook": s.Webhook.Address, "callback": s.Callback.Address, "metrics": s.MetricsAddress, "health": s.HealthAddress}[port.Name]
				if !strings.HasSuffix(address, ":"+itoa(port.ContainerPort)) {
					t.Errorf("%s: port %s is %d, and the program listens at %q", pod.Name, port.Name, port.ContainerPort, address)
				}
			}
		}
		if count == 0 {
			t.Error("nothing runs")
		}
	})
}

func TestWithoutValuesTheSettingsAreTheProgramsOwn(t *testing.T) {
	t.Parallel()
	objects := rendered(t)
	s, err := load(t, settingsFile(t, objects), podsOf(t, objects)[0])
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Roles, want.Namespace = s.Roles, namespace
	want.Webhook.Service = "dogear-webhook"
	want.Webhook.ControllerUsers = []string{"system:serviceaccount:dogear:dogear-controller"}
	if diff := cmp.Diff(want, s.Settings); diff != "" {
		t.Error(diff)
	}
}

// chosen are settings that the chart makes of other values than settings, in
// small letters.
var chosen = []string{
	"config", "roles", "namespace", "namespaces", "uninstallaccount", "leaderelect", "metricsaddress", "healthaddress",
	"webhookaddress", "webhookservice", "webhookserviceport", "webhookurl", "webhookcertificatedir", "webhooksecret",
	"webhookinjectcafrom", "webhookcontrollerusers", "webhookfail", "webhooktimeout", "webhooklameduck",
	"callbackaddress", "callbackservice", "callbackserviceport", "callbackurl", "callbackcertificatedir",
}

// A setting that is added to the program gets a value, or a reason not to.
func TestEverySettingHasAValue(t *testing.T) {
	t.Parallel()
	values := struct{ Settings map[string]any }{}
	if err := yaml.Unmarshal([]byte(read(t, "charts", "dogear", "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Marshal(values.Settings)
	if err != nil {
		t.Fatal(err)
	}
	var has []string
	for _, path := range paths(t, string(text)) {
		has = append(has, strings.ToLower(strings.NewReplacer(".", "", "-", "").Replace(path)))
	}
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	config.Register(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		name := strings.ReplaceAll(f.Name, "-", "")
		if !slices.Contains(has, name) && !slices.Contains(chosen, name) {
			t.Errorf("--%s has no value in the chart", f.Name)
		}
	})
}

// The Job that releases the objects of a namespace is bound beside the controller,
// whatever either is called.
func TestTheProgramKnowsTheAccountThatRemovesIt(t *testing.T) {
	t.Parallel()
	for set, want := range map[string][]string{
		"":                                       {"dogear-controller", "dogear-uninstall"},
		"controller.serviceAccount.name=robot":   {"robot", "dogear-uninstall"},
		"hooks.serviceAccount.uninstall=remover": {"dogear-controller", "remover"},
	} {
		for _, scope := range []string{"namespaced.enabled=true", "namespaced.enabled=false"} {
			objects := rendered(t, "--set", scope+","+set)
			pod := podsOf(t, objects)[0]
			s, err := load(t, settingsFile(t, objects), pod)
			if err != nil {
				t.Fatalf("%s: %v", set, err)
			}
			var have []string
			for _, subject := range sets.WithUninstall(rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: pod.Spec.ServiceAccountName}, s.UninstallAccount) {
				have = append(have, subject.Name)
			}
			if job := find(objects, "Job", "dogear-uninstall"); !slices.Equal(have, want) || to[batchv1.Job](t, job).Spec.Template.Spec.ServiceAccountName != want[1] {
				t.Errorf("%s,%s: rights are for %q, want %q", scope, set, have, want)
			}
		}
	}
}

func TestWebhookSettings(t *testing.T) {
	t.Parallel()
	settings := func(set string) *config.Loaded {
		objects := rendered(t, "--set", set)
		s, err := load(t, settingsFile(t, objects), podsOf(t, objects)[0])
		if err != nil {
			t.Fatalf("%s: %v", set, err)
		}
		return s
	}
	if s := settings("webhook.enabled=false"); s.Webhook.Enabled() {
		t.Errorf("it has a webhook: %v", s.Webhook)
	}
	if s := settings("namespaced.enabled=true"); s.Webhook.Enabled() || !slices.Equal(s.Namespaces, []string{namespace}) {
		t.Errorf("namespaces %v, webhook %v", s.Namespaces, s.Webhook)
	}
	if s := settings("webhook.certificate.mode=cert-manager"); s.Webhook.CertificateDir != "/etc/dogear-tls" || s.Webhook.InjectCAFrom != "dogear/dogear-webhook" {
		t.Errorf("%v", s.Webhook)
	}
	if s := settings("webhook.certificate.mode=secret,webhook.certificate.secretName=x,webhook.failurePolicy=Fail"); s.Webhook.CertificateDir != "/etc/dogear-tls" || s.Webhook.InjectCAFrom != "" || !s.Webhook.Fail {
		t.Errorf("%v", s.Webhook)
	}
	if s := settings("webhook.url=https://example.com:8443"); s.Webhook.Service != "" || s.Webhook.URL != "https://example.com:8443" {
		t.Errorf("%v", s.Webhook)
	}
}

// A certificate that is gone holds up what needs it, not the handling of objects.
func TestTheControllerStartsWithoutCertificates(t *testing.T) {
	t.Parallel()
	for _, set := range []string{"webhook.certificate.mode=cert-manager", "webhook.certificate.mode=secret,webhook.certificate.secretName=mine,callback.enabled=true,callback.certificate.secretName=mine"} {
		volumes := deployment(t, "controller", "--set", set).Spec.Template.Spec.Volumes
		if len(volumes) < 2 {
			t.Errorf("%s: volumes %v", set, volumes)
		}
		for _, volume := range volumes {
			if volume.Secret != nil && (volume.Secret.Optional == nil || !*volume.Secret.Optional) {
				t.Errorf("%s: no Pod starts without the Secret %s", set, volume.Secret.SecretName)
			}
		}
	}
}

// The controller needs the CA, the webhook the key, and neither both.
func TestCertificatesAreMounted(t *testing.T) {
	t.Parallel()
	mounts := func(component, set string) string {
		spec := deployment(t, component, "--set", set).Spec.Template.Spec
		var text []string
		for _, volume := range spec.Volumes {
			switch {
			case volume.Secret != nil:
				item := "secret " + volume.Secret.SecretName
				for _, key := range volume.Secret.Items {
					item += " " + key.Key
				}
				text = append(text, item)
			case volume.ConfigMap != nil && volume.Name != "settings":
				text = append(text, "configmap "+volume.ConfigMap.Name)
			}
		}
		return strings.Join(text, ", ")
	}
	for set, want := range map[string][2]string{
		"":                                      {"", ""},
		"webhook.certificate.mode=cert-manager": {"secret dogear-webhook-tls ca.crt", "secret dogear-webhook-tls tls.crt tls.key"},
		"webhook.certificate.mode=secret,webhook.certificate.secretName=mine":                                                          {"secret mine ca.crt", "secret mine tls.crt tls.key"},
		"webhook.certificate.mode=secret,webhook.certificate.secretName=mine,webhook.certificate.caBundle=-----BEGIN CERTIFICATE-----": {"configmap dogear-webhook-ca", "secret mine tls.crt tls.key"},
		"callback.enabled=true,callback.certificate.secretName=mine":                                                                   {"secret mine", ""},
	} {
		for i, component := range []string{"controller", "webhook"} {
			if got := mounts(component, set); got != want[i] {
				t.Errorf("%s: the %s mounts %q: want %q", set, component, got, want[i])
			}
		}
	}
}
