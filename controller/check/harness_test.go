package check_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/check"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// settle is how long a test waits for what must happen.
const settle = 60 * time.Second

// version is that of the program that checks, and of what is installed.
const version = "v1.2.3"

// cluster is one in which Dogear is installed: as the chart does it, but for the
// Pods, in whose place the service runs in this process, behind a real Service.
type cluster struct {
	*testing.T
	cp    *rig.ControlPlane
	admin client.Client
	// namespace is Dogear's, shop has the objects of users.
	namespace, shop string
	address         string // of the webhook
	port            int32
	endpoint        *endpoint
	stop            func() // ends the service
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	scheme := controller.DefaultScheme()
	for _, add := range []error{v1alpha1.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)} {
		if add != nil {
			t.Fatal(add)
		}
	}
	c := &cluster{T: t, cp: rigtest.ControlPlane(t)}
	var err error
	if c.admin, err = client.New(c.cp.AdminConfig(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	return c
}

// on is the cluster for a subtest.
func (c *cluster) on(t *testing.T) *cluster {
	sub := *c
	sub.T = t
	return &sub
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// report makes all checks.
func (c *cluster) report(changes ...func(*check.Options)) *check.Report {
	c.Helper()
	o := check.Options{Config: c.cp.AdminConfig(), Version: version}
	for _, change := range changes {
		change(&o)
	}
	checker, err := check.New(o)
	c.must(err)
	return checker.Run(c.Context())
}

// later is a clock that is ahead, and makes nobody wait long.
type later struct {
	clock.RealClock
	by time.Duration
}

func (l later) After(d time.Duration) <-chan time.Time { return time.After(d / 50) }

func (l later) Now() time.Time                   { return time.Now().Add(l.by) }
func (l later) Since(at time.Time) time.Duration { return l.Now().Sub(at) }
func in(by time.Duration) func(*check.Options) {
	return func(o *check.Options) { o.Clock = later{by: by} }
}

// tolerant is what asks for the installation alone.
func tolerant(o *check.Options) { o.TolerateSets = true }

func as(config *rest.Config) func(*check.Options) {
	return func(o *check.Options) { o.Config = config }
}
func find(r *check.Report, group, name string) *check.CheckReport {
	for _, g := range r.Groups {
		for i := range g.Checks {
			if g.Name == group && g.Checks[i].Name == name {
				return &g.Checks[i]
			}
		}
	}
	return &check.CheckReport{}
}

// want makes all checks until one of them has come to a verdict, with all these
// texts in what it says.
func (c *cluster) want(group, name string, verdict check.Verdict, texts []string, changes ...func(*check.Options)) {
	c.Helper()
	rigtest.Eventually(c, settle, func() error { return c.wanted(c.report(changes...), group, name, verdict, texts...) })
}

func (c *cluster) wanted(r *check.Report, group, name string, verdict check.Verdict, texts ...string) error {
	have := find(r, group, name)
	all := strings.Join(append(have.Objects, have.Message, have.Hint), "\n")
	if have.Verdict != verdict {
		return fmt.Errorf("%s: %s: %s, want %s: %s", group, name, have.Verdict, verdict, all)
	}
	for _, text := range texts {
		if !strings.Contains(all, text) {
			return fmt.Errorf("%s: %s: no %q in: %s", group, name, text, all)
		}
	}
	if (verdict == check.Failed || verdict == check.Warning) && have.Hint == "" {
		return fmt.Errorf("%s: %s: no hint: %s", group, name, all)
	}
	return nil
}

// allGood makes all checks until none has found anything.
func (c *cluster) allGood(skipped ...string) {
	c.Helper()
	rigtest.Eventually(c, settle, func() error {
		r := c.report()
		var text strings.Builder
		c.must(r.Text(&text, check.Style{}))
		if r.Summary.Verdict != check.OK || r.Summary.Skipped != len(skipped) {
			return fmt.Errorf("want all ok, but %q skipped:\n%s", skipped, text.String())
		}
		return nil
	})
}

// handled are rights for what the sets of the tests name.
var handled = []rbacv1.PolicyRule{
	{APIGroups: []string{"cert-manager.io"}, Resources: []string{"certificates"}, Verbs: []string{"get", "list", "watch", "patch"}},
	{APIGroups: []string{"cert-manager.io"}, Resources: []string{"certificates/status"}, Verbs: []string{"patch"}},
	{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "patch"}},
}

// account makes the ServiceAccount of the controller.
func (c *cluster) account(handled ...rbacv1.PolicyRule) *rest.Config {
	c.Helper()
	config, err := c.cp.ServiceAccountConfig(c.Context(), c.namespace, "dogear-controller", rig.Rights{
		Cluster: append([]rbacv1.PolicyRule{
			{APIGroups: []string{"dogear.dev"}, Resources: []string{"clusterhandlersets", "handlersets"}, Verbs: []string{"get", "list", "watch", "patch"}},
			{APIGroups: []string{"dogear.dev"}, Resources: []string{"clusterhandlersets/status", "handlersets/status"}, Verbs: []string{"patch"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"get"}},
			{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, Verbs: []string{"create"}},
			{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, ResourceNames: []string{"dogear.dev"}, Verbs: []string{"get", "patch"}},
			{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
		}, handled...),
		Namespaced: map[string][]rbacv1.PolicyRule{c.namespace: {
			{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: []string{"create", "get", "update"}},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update"}},
		}},
	})
	c.must(err)
	return config
}

// install makes what the chart makes, without Pods.
func (c *cluster) install() {
	c.Helper()
	c.namespace, c.shop = rigtest.Namespace(c.T), rigtest.Namespace(c.T)
	_, text, err := net.SplitHostPort(freeAddress(c))
	c.must(err)
	port, err := strconv.Atoi(text)
	c.must(err)
	c.port = int32(port)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "dogear-webhook"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: c.port}}},
	}
	c.must(c.admin.Create(c.Context(), service))
	c.address = net.JoinHostPort(service.Spec.ClusterIP, text)
	c.must(c.admin.Create(c.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: c.namespace, Name: "dogear-webhook", Labels: map[string]string{discoveryv1.LabelServiceName: "dogear-webhook"}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.2.3"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
	}))
	c.must(c.admin.Create(c.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "dogear-settings"},
		Data:       map[string]string{"settings.yaml": fmt.Sprintf("webhook: {service: dogear-webhook, servicePort: %d}\n", c.port)},
	}))
	for _, component := range []string{"controller", "webhook"} {
		c.deployment(component)
	}
	_, err = c.cp.ServiceAccountConfig(c.Context(), c.namespace, "dogear-webhook", rig.Rights{
		Cluster: []rbacv1.PolicyRule{
			{APIGroups: []string{"dogear.dev"}, Resources: []string{"clusterhandlersets", "handlersets"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get", "list", "watch"}},
		},
		Namespaced: map[string][]rbacv1.PolicyRule{c.namespace: {{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"dogear.dev-webhook"}, Verbs: []string{"get"}}}},
	})
	c.must(err)
	c.endpoint = newEndpoint(c)
}

// deployment makes one with a Pod that runs, of a release that may have a name of
// its own.
func (c *cluster) deployment(component string, release ...string) {
	c.Helper()
	name := strings.Join(append(release, component), "-")
	if len(release) == 0 {
		name = "dogear-" + component
	}
	labels := map[string]string{"dogear.dev/component": component}
	pod := corev1.PodSpec{
		ServiceAccountName: "dogear-" + component,
		Containers: []corev1.Container{{
			Name: "dogear", Image: "ghcr.io/dogear-dev/dogear:" + version, Args: []string{"run", "--config=/etc/dogear/settings.yaml", "--roles=" + component},
			VolumeMounts: []corev1.VolumeMount{{Name: "settings", MountPath: "/etc/dogear"}},
		}},
		Volumes: []corev1.Volume{{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "dogear-settings"}}}}},
	}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name, Labels: labels},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod}},
	}
	c.must(c.admin.Create(c.Context(), d))
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
	c.must(c.admin.Status().Update(c.Context(), d))
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: name + "-0", Labels: labels}, Spec: pod}
	p.Spec.ServiceAccountName = ""
	p.Spec.AutomountServiceAccountToken = new(false)
	c.must(c.admin.Create(c.Context(), p))
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "dogear", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}}}
	c.must(c.admin.Status().Update(c.Context(), p))
}

// start runs the service as its ServiceAccount, and returns what ends it.
func (c *cluster) start() (stop func()) {
	c.Helper()
	settings := config.Default()
	settings.Namespace = c.namespace
	settings.MetricsAddress, settings.HealthAddress = "", ""
	settings.Webhook.Address, settings.Webhook.Service, settings.Webhook.ServicePort, settings.Webhook.LameDuck = c.address, "dogear-webhook", int(c.port), -1
	settings.GracePeriod = time.Second
	service, err := sets.New(sets.Options{Settings: settings, Config: c.account(handled...), Log: rigtest.Log(c.T)})
	c.must(err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			c.Errorf("the service ended with: %v", err)
		}
	})
	c.Cleanup(stop)
	rigtest.Eventually(c, settle, func() error {
		dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		connection, err := dialer.DialContext(c.Context(), "tcp", c.address)
		if err == nil {
			err = connection.Close()
		}
		return err
	})
	return stop
}

// endpoint is one behind a Service that answers what it is told to.
type endpoint struct {
	name string
	port int

	mu      sync.Mutex
	outcome v1alpha1.Outcome
}

func newEndpoint(c *cluster) *endpoint {
	c.Helper()
	_, text, err := net.SplitHostPort(freeAddress(c))
	c.must(err)
	port, err := strconv.Atoi(text)
	c.must(err)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.shop, Name: "hook"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: int32(port)}}},
	}
	c.must(c.admin.Create(c.Context(), service))
	listener, err := net.Listen("tcp", net.JoinHostPort(service.Spec.ClusterIP, text))
	c.must(err)
	e := &endpoint{name: "hook", port: port, outcome: v1alpha1.OutcomeSucceeded}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}}
	server.Start()
	c.Cleanup(server.Close)
	return e
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	outcome := e.outcome
	e.mu.Unlock()
	review := &v1alpha1.HandlerReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(w, "no HandlerReview", http.StatusBadRequest)
		return
	}
	response := &v1alpha1.HandlerReviewResponse{UID: review.Request.UID, Outcome: outcome}
	if outcome != v1alpha1.OutcomeSucceeded {
		response.Reason, response.Message = "NotYet", "the disk is not empty"
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v1alpha1.HandlerReview{TypeMeta: review.TypeMeta, Response: response})
}

func (e *endpoint) answer(outcome v1alpha1.Outcome) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.outcome = outcome
}

// http is the endpoint in the words of a set.
func (c *cluster) http() string {
	return fmt.Sprintf("{service: {namespace: %s, name: %s, port: %d}, plaintext: true}", c.shop, c.endpoint.name, c.endpoint.port)
}

// set declares a ClusterHandlerSet for the namespace of users.
func (c *cluster) set(name, spec string) *v1alpha1.ClusterHandlerSet {
	c.Helper()
	s := &v1alpha1.ClusterHandlerSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c.must(yaml.UnmarshalStrict([]byte(spec), &s.Spec))
	if s.Spec.Match == nil {
		s.Spec.Match = &v1alpha1.Match{}
	}
	s.Spec.Match.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: c.shop}}
	c.must(c.admin.Create(c.Context(), s))
	return s
}

func (c *cluster) awaitReady(s *v1alpha1.ClusterHandlerSet) {
	c.Helper()
	rigtest.Eventually(c, settle, func() error {
		if err := c.admin.Get(c.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("%s is not ready: %+v", s.Name, s.Status.Conditions)
		}
		return nil
	})
}

// drop deletes objects, and waits until they are gone.
func (c *cluster) drop(objects ...client.Object) {
	c.Helper()
	for _, o := range objects {
		c.must(client.IgnoreNotFound(c.admin.Delete(c.Context(), o)))
	}
	for _, o := range objects {
		rigtest.Eventually(c, settle, func() error {
			err := c.admin.Get(c.Context(), client.ObjectKeyFromObject(o), o)
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("%s is still there: %+v %w", o.GetName(), o, err)
		})
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	address, err := rig.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func parse(c *cluster, text string) *unstructured.Unstructured {
	c.Helper()
	u := &unstructured.Unstructured{}
	c.must(yaml.Unmarshal([]byte(text), &u.Object))
	return u
}

// apply creates an object from YAML.
func (c *cluster) apply(text string) *unstructured.Unstructured {
	c.Helper()
	u := parse(c, text)
	if u.GetNamespace() == "" {
		u.SetNamespace(c.shop)
	}
	c.must(c.admin.Create(c.Context(), u))
	return u
}

func (c *cluster) certificate(name string) *unstructured.Unstructured {
	c.Helper()
	return c.apply(fmt.Sprintf(`{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: %s}, spec: {secretName: tls, dnsNames: [a.example.com], issuerRef: {name: ca}}}`, name))
}
