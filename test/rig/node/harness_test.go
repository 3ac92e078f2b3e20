package node_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig/node"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// patience is how long a test waits for anything; all of it takes a second or two.
const patience = 30 * time.Second

// podSpec has one container "app" that runs the test program with args.
func podSpec(args ...string) corev1.PodSpec {
	return corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyNever,
		TerminationGracePeriodSeconds: new(int64(5)),
		Containers:                    []corev1.Container{{Name: "app", Image: image + ":v1", Args: append([]string{"app"}, args...)}},
	}
}

// server has a spec that serves at port "http", with a readiness probe.
func server(args ...string) corev1.PodSpec {
	spec := podSpec(append([]string{"serve"}, args...)...)
	c := &spec.Containers[0]
	c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	c.ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromString("http")}},
		PeriodSeconds: 1, FailureThreshold: 1,
	}
	return spec
}

// create makes objects.
func create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := rigtest.Client(t).Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// run makes a Pod "it" in a namespace of its own, unless one is given.
func run(t *testing.T, spec corev1.PodSpec, namespace ...string) *corev1.Pod {
	t.Helper()
	theNode(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "it"}, Spec: spec}
	if pod.Namespace = strings.Join(namespace, ""); pod.Namespace == "" {
		pod.Namespace = newNamespace(t)
	}
	create(t, pod)
	return pod
}

// newNamespace makes one that has what every Pod needs.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := rigtest.Namespace(t)
	rigtest.Eventually(t, patience, func() error {
		return rigtest.Client(t).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "default"}, &corev1.ServiceAccount{})
	})
	return namespace
}

// until waits until the object fits.
func until[T client.Object](t *testing.T, object T, what string, fits func(T) bool) T {
	t.Helper()
	rigtest.Eventually(t, patience, func() error {
		if err := rigtest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if !fits(object) {
			return fmt.Errorf("not %s: %s", what, show(object))
		}
		return nil
	})
	return object
}

func show(object client.Object) string {
	switch object := object.(type) {
	case *corev1.Pod:
		return object.Status.String()
	case *appsv1.Deployment:
		return object.Status.String()
	}
	return fmt.Sprintf("%+v", object)
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

func hasPhase(phase corev1.PodPhase) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return pod.Status.Phase == phase }
}

// gone waits until an object is no more.
func gone(t *testing.T, object client.Object) {
	t.Helper()
	rigtest.Eventually(t, patience, func() error {
		err := rigtest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(object), object)
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s is still there (%v)", object.GetName(), err)
		}
		return nil
	})
}

// process returns that of a Pod's only container, once it runs.
func process(t *testing.T, pod *corev1.Pod) *node.Process {
	t.Helper()
	var p *node.Process
	rigtest.Eventually(t, patience, func() (err error) {
		p, err = theNode(t).Process(pod, "")
		return err
	})
	return p
}

// web opens a connection for each request, so that each is a new choice of
// the proxy.
var web = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}

func get(ctx context.Context, address, path string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return "", err
	}
	response, err := web.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return string(text), err
}

// deployment returns one of the label app=it, and its Service on port 80.
func deployment(namespace string, replicas int32, spec corev1.PodSpec) (*appsv1.Deployment, *corev1.Service) {
	labels := map[string]string{"app": "it"}
	spec.RestartPolicy = corev1.RestartPolicyAlways
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "it"}
	d := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
	}}
	s := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: labels, Ports: []corev1.ServicePort{{Name: "web", Port: 8080, TargetPort: intstr.FromString("http")}},
	}}
	return d, s
}

// rolledOut tells that all replicas are of the present template and available.
func rolledOut(d *appsv1.Deployment) bool {
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas == *d.Spec.Replicas && s.Replicas == s.UpdatedReplicas && s.AvailableReplicas == s.Replicas
}
