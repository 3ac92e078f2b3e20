package node_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

func TestWhatCannotRunSaysWhy(t *testing.T) {
	cases := map[string]struct {
		change        func(*corev1.PodSpec)
		reason, words string
	}{
		"unknown image": {
			func(s *corev1.PodSpec) { s.Containers[0].Image = "example.com/other:v1@sha256:0" },
			"ErrImagePull", `no program stands for image "example.com/other:v1@sha256:0", but for`,
		},
		"missing program": {
			func(s *corev1.PodSpec) { s.Containers[0].Image = image + ":missing" },
			"CreateContainerError", "/nowhere/at/all",
		},
		"init containers": {
			func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{{Name: "first", Image: image}} },
			"Unsupported", "no init containers",
		},
		"command probe": {
			func(s *corev1.PodSpec) {
				s.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
			},
			"Unsupported", "no readinessProbe but httpGet and tcpSocket",
		},
		"missing key": {
			func(s *corev1.PodSpec) {
				ref := &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Key: "no"}
				s.Containers[0].Env = []corev1.EnvVar{{Name: "A", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: ref}}}
			},
			"CreateContainerConfigError", `variable A: no key "no", only ["ca.crt"]`,
		},
		"host path": {
			func(s *corev1.PodSpec) {
				*s = mount(*s, "host", "/host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}})
			},
			"ContainerCreating", `volume "host": a node of processes has no such kind of volume`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			spec := podSpec("exit", "0")
			tc.change(&spec)
			pod := until(t, run(t, spec), "waiting", waitsFor(tc.reason, tc.words))
			remove(t, pod)
			gone(t, pod)
		})
	}
}

func TestPodSecurityRefusesThePrivileged(t *testing.T) {
	theNode(t)
	namespace := &corev1.Namespace{}
	admin := rigtest.Client(t)
	if err := admin.Get(t.Context(), client.ObjectKey{Name: newNamespace(t)}, namespace); err != nil {
		t.Fatal(err)
	}
	namespace.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	if err := admin.Update(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	spec := podSpec("exit", "0")
	spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: new(true)}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "privileged"}, Spec: spec}
	if err := admin.Create(t.Context(), pod); !apierrors.IsForbidden(err) {
		t.Errorf("it was let in: %v", err)
	}
	spec = podSpec("exit", "0")
	spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	until(t, run(t, spec, namespace.Name), "done", hasPhase(corev1.PodSucceeded))
}

func TestDisruptionBudgetRefusesEviction(t *testing.T) {
	namespace := newNamespace(t)
	theNode(t)
	d, s := deployment(namespace, 1, server())
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "it"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: new(intstr.FromInt32(1)), Selector: d.Spec.Selector,
	}}
	create(t, d, s, budget)
	until(t, budget, "counted", func(b *policyv1.PodDisruptionBudget) bool { return b.Status.CurrentHealthy == 1 })
	pods, err := theNode(t).Pods(t.Context(), namespace, "")
	if err != nil || len(pods) != 1 {
		t.Fatalf("%d Pods, %v", len(pods), err)
	}
	eviction := &policyv1.Eviction{}
	if err := rigtest.Client(t).SubResource("eviction").Create(t.Context(), &pods[0], eviction); !apierrors.IsTooManyRequests(err) {
		t.Errorf("eviction: %v", err)
	}
}
