package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/test/rig/node"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// mount adds a volume at a path of the only container.
func mount(spec corev1.PodSpec, name, path string, source corev1.VolumeSource) corev1.PodSpec {
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	c := &spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
	return spec
}

func secretOf(name string) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
}

func configMapOf(name string) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

// output is what a Pod has printed, once it succeeded.
func output(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	until(t, pod, "done", hasPhase(corev1.PodSucceeded))
	text, err := os.ReadFile(theNode(t).Log(pod.Namespace, pod.Name, "app"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestVariablesAndArguments(t *testing.T) {
	namespace := newNamespace(t)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "them"}
	create(t,
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"COLOR": "red", "file.yaml": "dir: /etc/app"}},
		&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"password": []byte("/etc/app/secret")}})
	them := corev1.LocalObjectReference{Name: "them"}
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	amount := func(what, divisor string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: what, Divisor: resource.MustParse(divisor)}}
	}
	spec := podSpec("print", "$(COLOR)", "$$(COLOR)", "$(NOBODY)", "--file=/etc/app/file.yaml", "/etc/app-tls/x")
	spec = mount(spec, "files", "/etc/app", configMapOf("them"))
	c := &spec.Containers[0]
	c.Ports = []corev1.ContainerPort{{Name: "web-hook", ContainerPort: 9443}, {ContainerPort: 1}}
	c.Resources = corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{"memory": resource.MustParse("64Mi")},
		Requests: corev1.ResourceList{"cpu": resource.MustParse("1500m")},
	}
	c.EnvFrom = []corev1.EnvFromSource{{Prefix: "MAP_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: them}}}
	c.Env = []corev1.EnvVar{
		{Name: "COLOR", Value: "dark $(MAP_COLOR)"},
		{Name: "LATER", Value: "$(LAST)"},
		{Name: "LAST", Value: "x"},
		{Name: "KEY", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: them, Key: "COLOR"}}},
		{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: them, Key: "password"}}},
		{Name: "NONE", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: them, Key: "no", Optional: new(true)}}},
		{Name: "NAMESPACE", ValueFrom: field("metadata.namespace")},
		{Name: "LABEL", ValueFrom: field("metadata.labels['example.com/a']")},
		{Name: "NODE", ValueFrom: field("spec.nodeName")},
		{Name: "IP", ValueFrom: field("status.podIP")},
		{Name: "LIMIT", ValueFrom: amount("limits.memory", "1Mi")},
		{Name: "BYTES", ValueFrom: amount("limits.memory", "0")},
		{Name: "CPUS", ValueFrom: amount("requests.cpu", "1")},
	}
	theNode(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "it", Labels: map[string]string{"example.com/a": "b"}}, Spec: spec}
	create(t, pod)
	var got printed
	if err := json.Unmarshal([]byte(output(t, pod)), &got); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, one := range got.Env {
		name, value, _ := strings.Cut(one, "=")
		env[name] = value
	}
	address := node.Address(pod)
	folder := strings.TrimSuffix(strings.TrimPrefix(got.Args[3], "--file="), "/file.yaml")
	if !strings.HasPrefix(folder, rigtest.ControlPlane(t).Dir()) {
		t.Errorf("argument is %q", got.Args[3])
	}
	if got := fmt.Sprint(got.Args[0], got.Args[1], got.Args[2], got.Args[4]); got != "dark red$(COLOR)$(NOBODY)/etc/app-tls/x" {
		t.Errorf("arguments are %q", got)
	}
	for name, want := range map[string]string{
		"COLOR": "dark red", "LATER": "$(LAST)", "LAST": "x", "KEY": "red", "SECRET": folder + "/secret", "MAP_COLOR": "red",
		"NAMESPACE": namespace, "LABEL": "b", "NODE": node.Name, "IP": address, "LIMIT": "64", "BYTES": "67108864", "CPUS": "2",
		"DOGEAR_WEB_HOOK_ADDRESS": address + ":9443", "MAP_file.yaml": "dir: " + folder,
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
		delete(env, name)
	}
	for _, name := range []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		if env[name] == "" {
			t.Errorf("no %s", name)
		}
		delete(env, name)
	}
	if len(env) > 0 {
		t.Errorf("there are others: %v", env)
	}
}

func TestVolumesAreFilesAndFollowTheirObjects(t *testing.T) {
	namespace := newNamespace(t)
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "them"}
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"a": []byte("1"), "b": []byte("2")}}
	create(t, secret, &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"settings": "at /secret/a, not /secrets"}})
	spec := server()
	spec = mount(spec, "secret", "/secret", secretOf("them"))
	spec = mount(spec, "map", "/map", configMapOf("them"))
	spec.Volumes[1].ConfigMap.Items = []corev1.KeyToPath{{Key: "settings", Path: "in/settings.yaml", Mode: new(int32(0o600))}}
	spec = mount(spec, "pod", "/pod", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}}},
		{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "other"}, Optional: new(true)}},
	}}})
	spec.Containers[0].Env = []corev1.EnvVar{{Name: "VERSION", Value: "/map,/secret,/pod"}}
	pod := until(t, run(t, spec, namespace), "ready", isReady)
	address := node.Address(pod) + ":8080"
	folders, err := get(t.Context(), address, "/version")
	if err != nil {
		t.Fatal(err)
	}
	folder := strings.Split(folders, ",")
	read := func(path string) (string, error) { return get(t.Context(), address, "/file?path="+path) }
	for path, want := range map[string]string{
		folder[0] + "/in/settings.yaml": "at " + folder[1] + "/a, not /secrets",
		folder[1] + "/a":                "1", folder[1] + "/b": "2", folder[2] + "/name": "it",
	} {
		if got, err := read(path); got != want {
			t.Errorf("%s holds %q (%v), want %q", path, got, err, want)
		}
	}
	if info, err := os.Stat(folder[0] + "/in/settings.yaml"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode of an item: %v, %v", info, err)
	}
	secret.Data = map[string][]byte{"a": []byte("changed")}
	if err := rigtest.Client(t).Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "other"}, Data: map[string][]byte{"late": []byte("too")}})
	rigtest.Eventually(t, patience, func() error {
		if got, err := read(folder[1] + "/a"); got != "changed" {
			return fmt.Errorf("it holds %q (%v)", got, err)
		}
		if got, err := read(folder[2] + "/late"); got != "too" {
			return fmt.Errorf("an optional one that came later holds %q (%v)", got, err)
		}
		return nil
	})
	if _, err := os.Stat(folder[1] + "/b"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a key that went away is still a file: %v", err)
	}
}

func TestMissingObjectsAreWaitedFor(t *testing.T) {
	namespace := newNamespace(t)
	spec := mount(podSpec("exit", "0"), "secret", "/secret", secretOf("late"))
	pod := run(t, spec, namespace)
	until(t, pod, "waiting", waitsFor("ContainerCreating", `secrets "late" not found`))
	if pod.Status.Phase != corev1.PodPending {
		t.Errorf("phase is %s", pod.Status.Phase)
	}
	create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "late"}})
	until(t, pod, "done", hasPhase(corev1.PodSucceeded))
}

// waitsFor tells that the container waits with a reason and words of a message.
func waitsFor(reason, words string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool {
		for _, status := range pod.Status.ContainerStatuses {
			if w := status.State.Waiting; w != nil && w.Reason == reason && strings.Contains(w.Message, words) {
				return true
			}
		}
		return false
	}
}
