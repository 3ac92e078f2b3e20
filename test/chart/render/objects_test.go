package render

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// The API server accepts every object of all sets of values, and knows every
// field.
func TestTheAPIServerAcceptsAll(t *testing.T) {
	cp, admin := rigtest.ControlPlane(t), rigtest.Client(t)
	assets, err := rig.AssetsDir()
	if err != nil {
		t.Fatal(err)
	}
	monitoring, err := rig.LoadCRDs(filepath.Join(assets, "monitoring-crds"))
	if err != nil {
		t.Fatalf("%v: run 'make controlplane'", err)
	}
	if err := cp.InstallCRDs(t.Context(), monitoring...); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{namespace, "team-a", "team-b", "hooks"} {
		if err := admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	for name, file := range valuesSets(t) {
		t.Run(name, func(t *testing.T) {
			for _, o := range rendered(t, "-f", file) {
				if mapping, err := admin.RESTMapper().RESTMapping(o.GroupVersionKind().GroupKind(), o.GroupVersionKind().Version); err != nil {
					t.Errorf("%s: %v", called(o), err)
					continue
				} else if mapping.Scope.Name() == meta.RESTScopeNameNamespace && o.GetNamespace() == "" {
					o.SetNamespace(namespace) // as helm does
				}
				if err := admin.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
					t.Errorf("%s: %v", called(o), err)
				}
			}
		})
	}
}

func TestFurtherObjects(t *testing.T) {
	t.Parallel()
	objects := rendered(t, "--set-json", `extraObjects=[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"map"},"data":{"a":"{{ $value }}"}},"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-text}"]`)
	if find(objects, "ConfigMap", "dogear-text") == nil {
		t.Error("the text is no template")
	}
	if data, _, _ := unstructured.NestedString(find(objects, "ConfigMap", "map").Object, "data", "a"); data != "{{ $value }}" {
		t.Errorf("the map has %q", data)
	}
}

func TestNoTwoObjectsAreTheSame(t *testing.T) {
	t.Parallel()
	eachSet(t, func(t *testing.T, objects []*unstructured.Unstructured) {
		seen := map[string]bool{}
		for _, o := range objects {
			if seen[called(o)] {
				t.Errorf("%s is there twice", called(o))
			}
			seen[called(o)] = true
		}
	})
}

func TestAllObjectsHaveLabels(t *testing.T) {
	t.Parallel()
	for _, o := range rendered(t, "--set", "commonLabels.team=platform,metrics.serviceMonitor.enabled=true,networkPolicy.enabled=true") {
		labels := o.GetLabels()
		for key, want := range map[string]string{
			"app.kubernetes.io/name": "dogear", "app.kubernetes.io/instance": release, "app.kubernetes.io/part-of": "dogear",
			"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/version": metadata(t, "dogear").AppVersion, "team": "platform",
		} {
			if labels[key] != want {
				t.Errorf("%s: label %s is %q: want %q", called(o), key, labels[key], want)
			}
		}
	}
}

func TestNamesFollowTheRelease(t *testing.T) {
	t.Parallel()
	for release, want := range map[string]string{"dogear": "dogear-controller", "my-dogear": "my-dogear-controller", "hooks": "hooks-dogear-controller"} {
		text, err := helm(t, "template", release, chart(t, "dogear"))
		if err != nil {
			t.Fatal(err)
		}
		if find(decode(t, text), "Deployment", want) == nil {
			t.Errorf("release %s has no Deployment %s", release, want)
		}
	}
	long := strings.Repeat("long-", 10) + "end"
	text, err := helm(t, "template", long, chart(t, "dogear"), "--set", "callback.enabled=true")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range decode(t, text) {
		if name := o.GetName(); o.GetKind() == "Service" && len(name) > 63 {
			t.Errorf("%s has %d letters", name, len(name))
		}
	}
}

// Accounts come before roles, roles before bindings, and those before what uses
// them; all go on success, and before they are made again.
func TestHooksComeInOrder(t *testing.T) {
	t.Parallel()
	order := []string{"ServiceAccount", "Role", "RoleBinding", "Job"}
	for _, set := range []string{"", "namespaced.enabled=true", "crds.migrate=true"} {
		weights := map[string]map[string][]int{} // by hook and kind
		for _, o := range rendered(t, "--set", set) {
			hook := o.GetAnnotations()["helm.sh/hook"]
			if hook == "" {
				continue
			}
			want := "before-hook-creation,hook-succeeded"
			if o.GetAnnotations()["helm.sh/hook"] == "test" && o.GetKind() != "Pod" {
				want += ",hook-failed" // its rights go, its Pod stays for the log
			}
			if policy := o.GetAnnotations()["helm.sh/hook-delete-policy"]; policy != want {
				t.Errorf("%s: the policy is %q", called(o), policy)
			}
			weight, err := strconv.Atoi(o.GetAnnotations()["helm.sh/hook-weight"])
			if err != nil {
				t.Errorf("%s: %v", called(o), err)
			}
			kind := strings.TrimPrefix(o.GetKind(), "Cluster")
			if kind == "Pod" {
				kind = "Job"
			}
			if weights[hook] == nil {
				weights[hook] = map[string][]int{}
			}
			weights[hook][kind] = append(weights[hook][kind], weight)
		}
		for hook, kinds := range weights {
			for i := 1; i < len(order); i++ {
				if slices.Max(kinds[order[i-1]]) >= slices.Min(kinds[order[i]]) {
					t.Errorf("%s: %s: %ss may come before %ss", set, hook, order[i], order[i-1])
				}
			}
		}
		if len(weights) < 2 {
			t.Errorf("%s: hooks %v", set, weights)
		}
	}
}

func TestTheJobBeforeUninstalling(t *testing.T) {
	t.Parallel()
	job := func(set string) *batchv1.Job {
		o := find(rendered(t, "--set", set), "Job", "dogear-uninstall")
		if o == nil {
			return nil
		}
		return to[batchv1.Job](t, o)
	}
	for set, want := range map[string]string{
		"":                                    "uninstall --yes --release=dogear --timeout=4m",
		"uninstall.keepState=true":            "uninstall --yes --release=dogear --timeout=4m --keep-state",
		"uninstall.removeMarkers=true":        "uninstall --yes --release=dogear --timeout=4m --remove-markers",
		"uninstall.timeout=1h":                "uninstall --yes --release=dogear --timeout=1h",
		"namespaced.enabled=true":             "uninstall --yes --release=dogear --timeout=4m --namespaces=dogear",
		"uninstall.timeout=null":              "uninstall --yes --release=dogear --timeout=4m",
		"rbac.create=false,crds.enabled=true": "uninstall --yes --release=dogear --timeout=4m",
	} {
		j := job(set)
		if got := strings.Join(j.Spec.Template.Spec.Containers[0].Args, " "); got != want {
			t.Errorf("%s: args %q: want %q", set, got, want)
		}
		if j.Spec.Template.Spec.RestartPolicy != corev1.RestartPolicyNever || *j.Spec.BackoffLimit != 2 {
			t.Errorf("%s: %v", set, j.Spec)
		}
	}
	if got := *job("uninstall.timeout=1h").Spec.ActiveDeadlineSeconds; got <= 3600 {
		t.Errorf("it is killed after %d s, before its time is over", got)
	}
	if got := *job("").Spec.ActiveDeadlineSeconds; got >= 300 {
		t.Errorf("it may take %d s: helm waits 300 s by default", got)
	}
	if job("uninstall.enabled=false") != nil {
		t.Error("it is there, and was not wanted")
	}
}

// Names that YAML takes for a number stay names. There are more in ci/numbers-values.yaml.
func TestNamesThatLookLikeNumbers(t *testing.T) {
	t.Parallel()
	text, err := helm(t, "template", "20261130", chart(t, "dogear"), "--namespace", "123", "--set", "fullnameOverride=dogear",
		"--set-string", "rbac.endpointSecrets[0].namespace=456,rbac.resources[0].group=,rbac.resources[0].resource=321,controller.priorityClassName=1000,webhook.priorityClassName=1000")
	if err != nil {
		t.Fatal(err)
	}
	deployments := 0
	for _, o := range decode(t, text) {
		id := o.GetKind() + " " + o.GetName()
		if namespace, found, err := unstructured.NestedString(o.Object, "metadata", "namespace"); err != nil || found && namespace != "123" && namespace != "456" {
			t.Errorf("%s: namespace %q %v", id, namespace, err)
		}
		labels, _, err := unstructured.NestedStringMap(o.Object, "metadata", "labels")
		if err != nil || o.GetKind() != "CustomResourceDefinition" && labels["app.kubernetes.io/instance"] != "20261130" {
			t.Errorf("%s: labels %v %v", id, labels, err)
		}
		subjects, _, _ := unstructured.NestedSlice(o.Object, "subjects")
		for _, s := range subjects {
			if namespace := s.(map[string]any)["namespace"]; namespace != "123" {
				t.Errorf("%s: a subject is in %v", id, namespace)
			}
		}
		if strings.HasSuffix(o.GetKind(), "Role") {
			rolesOf(t, []*unstructured.Unstructured{o}) // of texts alone
		}
		if o.GetKind() != "Deployment" {
			continue
		}
		deployments++
		if pods := podsOf(t, []*unstructured.Unstructured{o}); pods[0].Spec.PriorityClassName != "1000" {
			t.Errorf("%s: the class is %q", id, pods[0].Spec.PriorityClassName)
		}
		selector, _, err := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
		if err != nil || selector["app.kubernetes.io/instance"] != "20261130" {
			t.Errorf("%s: selector %v %v", id, selector, err)
		}
	}
	if deployments != 2 {
		t.Errorf("%d Deployments", deployments)
	}
}
