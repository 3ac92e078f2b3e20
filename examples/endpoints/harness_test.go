package endpoints

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/sets"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// settle is how long a test waits for what must happen.
const settle = 90 * time.Second

func scheme(t *testing.T) client.Options {
	t.Helper()
	scheme := controller.DefaultScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return client.Options{Scheme: scheme}
}

// serve runs the service, with callbacks, until the test ends. It returns the
// namespace that it runs in.
func serve(t *testing.T) (namespace string) {
	t.Helper()
	namespace = rigtest.Namespace(t)
	settings := config.Default()
	settings.Namespace, settings.LeaderElect = namespace, false
	settings.MetricsAddress, settings.HealthAddress = "", ""
	settings.Webhook.LameDuck = -1
	settings.Webhook.Address, settings.Webhook.URL = address(t)
	settings.Callback.Address, settings.Callback.URL = address(t)
	settings.AllowLoopback = true // the rig's Services have loopback addresses
	account, err := rigtest.ControlPlane(t).ServiceAccountConfig(t.Context(), namespace, "dogear", rights(namespace))
	if err != nil {
		t.Fatal(err)
	}
	service, err := sets.New(sets.Options{Settings: settings, Config: account, Log: rigtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- service.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the service ended with: %v", err)
		}
	})
	return namespace
}

func address(t *testing.T) (address, url string) {
	t.Helper()
	address, err := rig.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address, "https://" + address
}

func rights(namespace string) rig.Rights {
	rule := func(group string, resources []string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
	}
	return rig.Rights{
		Cluster: []rbacv1.PolicyRule{
			rule("dogear.dev", []string{"clusterhandlersets", "handlersets"}, "get", "list", "watch", "patch"),
			rule("dogear.dev", []string{"clusterhandlersets/status", "handlersets/status"}, "patch"),
			rule("", []string{"namespaces"}, "get", "list", "watch"),
			rule("", []string{"services", "secrets"}, "get"),
			rule("admissionregistration.k8s.io", []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, "get", "create", "patch"),
			rule("events.k8s.io", []string{"events"}, "create", "patch"),
			rule("cert-manager.io", []string{"certificates"}, "get", "list", "watch", "patch"),
			rule("cert-manager.io", []string{"certificates/status"}, "patch"),
		},
		Namespaced: map[string][]rbacv1.PolicyRule{namespace: {
			rule("", []string{"secrets", "configmaps"}, "get", "create", "update"),
			rule("coordination.k8s.io", []string{"leases"}, "get", "create", "update"),
		}},
	}
}

// example is an example at work, in a namespace of its own.
type example struct {
	*testing.T
	admin     client.WithWatch
	namespace string
	set       string // the name of its ClusterHandlerSet
	handler   string
	address   string // its Service's
	port      int64
	dir       string // has folders tls and signing, as they would be mounted
	log       log
}

func newExample(t *testing.T) *example {
	t.Helper()
	e := &example{T: t, namespace: rigtest.Namespace(t), dir: t.TempDir()}
	e.set = e.namespace
	var err error
	if e.admin, err = client.NewWithWatch(rigtest.ControlPlane(t).AdminConfig(), scheme(t)); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"tls", "signing"} {
		if err := os.Mkdir(filepath.Join(e.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

// freePort is one at which nobody listens, the same for all examples: each has
// an address of its own.
var freePort = sync.OnceValue(func() string {
	address, err := rig.FreeAddress()
	if err != nil {
		panic(err)
	}
	_, port, _ := net.SplitHostPort(address)
	return port
})

// read returns the objects in a file, with a port that is free.
func read(t *testing.T, file string) (objects []*unstructured.Unstructured) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Any program of this machine may listen at the port of the files.
	text = bytes.ReplaceAll(text, []byte("port: 8443"), []byte("port: "+freePort()))
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(&u.Object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		objects = append(objects, u)
	}
}

// apply creates what is in a file, moved into the example's namespace: a set
// gets another name, and selects that namespace alone.
func (e *example) apply(file string) (objects []*unstructured.Unstructured) {
	e.Helper()
	objects = read(e.T, file)
	for _, u := range objects {
		if u.GetKind() == "ClusterHandlerSet" {
			e.move(u)
		} else {
			u.SetNamespace(e.namespace)
		}
		if err := e.admin.Create(e.Context(), u); err != nil {
			e.Fatalf("%s: %v", file, err)
		}
		switch u.GetKind() {
		case "ClusterHandlerSet":
			e.Cleanup(func() { e.drop(u) })
		case "Service":
			e.address, _, _ = unstructured.NestedString(u.Object, "spec", "clusterIP")
			ports, _, _ := unstructured.NestedSlice(u.Object, "spec", "ports")
			e.port = ports[0].(map[string]any)["port"].(int64)
		}
	}
	return objects
}

func (e *example) move(set *unstructured.Unstructured) {
	e.Helper()
	set.SetName(e.set)
	selector := map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": e.namespace}}
	_ = unstructured.SetNestedMap(set.Object, selector, "spec", "match", "namespaceSelector")
	handlers, _, _ := unstructured.NestedSlice(set.Object, "spec", "handlers")
	for _, h := range handlers {
		e.handler = h.(map[string]any)["id"].(string)
		if err := unstructured.SetNestedField(h.(map[string]any), e.namespace, "http", "service", "namespace"); err != nil {
			e.Fatal(err)
		}
	}
	if len(handlers) > 0 {
		_ = unstructured.SetNestedSlice(set.Object, handlers, "spec", "handlers")
	}
}

// drop deletes a set, and waits until its objects are clean.
func (e *example) drop(set *unstructured.Unstructured) {
	ctx := context.WithoutCancel(e.Context())
	_ = e.admin.Delete(ctx, set)
	for end := time.Now().Add(settle); ; time.Sleep(25 * time.Millisecond) {
		err := e.admin.Get(ctx, client.ObjectKeyFromObject(set), set)
		if err != nil && client.IgnoreNotFound(err) == nil {
			return
		}
		if time.Now().After(end) {
			e.Errorf("the set is still there: %v %v", set.Object["status"], err)
			return
		}
	}
}

// ready waits until the example's set is in force, also at admission: an API
// server calls a webhook a moment after it was told to.
func (e *example) ready() {
	e.Helper()
	rigtest.Eventually(e, settle, func() error {
		set := &v1alpha1.ClusterHandlerSet{}
		if err := e.admin.Get(e.Context(), client.ObjectKey{Name: e.set}, set); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionReady)
		return errorUnless(ready != nil && ready.Status == metav1.ConditionTrue, "the set is not ready: %+v", ready)
	})
	rigtest.Eventually(e, settle, func() error {
		u := read(e.T, "defaults/expected.yaml")[0]
		u.SetNamespace(e.namespace)
		unstructured.RemoveNestedField(u.Object, "spec", "privateKey")
		if err := e.admin.Create(e.Context(), u, client.DryRunAll); err != nil {
			return err
		}
		_, defaulted, _ := unstructured.NestedMap(u.Object, "spec", "privateKey")
		return errorUnless(defaulted || u.GetAnnotations()["dogear.dev/state"] != "", "the webhook is not called: %v", u.Object)
	})
}

// secret makes a Secret of the example, or changes it. What is in entries is
// all that it has then.
func (e *example) secret(name string, entries map[string]string) {
	e.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}, Data: map[string][]byte{}}
	for entry, text := range entries {
		secret.Data[entry] = []byte(text)
	}
	err := e.admin.Update(e.Context(), secret)
	if err != nil && client.IgnoreNotFound(err) == nil {
		err = e.admin.Create(e.Context(), secret)
	}
	if err != nil {
		e.Fatal(err)
	}
}

// mount writes the files of a folder that the endpoint sees, as the kubelet
// would: what is not in entries goes.
func (e *example) mount(folder string, entries map[string]string) {
	e.Helper()
	left, err := os.ReadDir(filepath.Join(e.dir, folder))
	if err != nil {
		e.Fatal(err)
	}
	for name, text := range entries {
		path := filepath.Join(e.dir, folder, name)
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o600), os.Rename(path+".new", path)); err != nil {
			e.Fatal(err)
		}
	}
	for _, file := range left {
		if _, ok := entries[file.Name()]; !ok {
			if err := os.Remove(filepath.Join(e.dir, folder, file.Name())); err != nil {
				e.Fatal(err)
			}
		}
	}
}

// log keeps what a process prints.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSpace(l.text.String()), "\n")
}

// calls are the lines about calls.
func (l *log) calls() []string {
	return slices.DeleteFunc(l.lines(), func(line string) bool {
		cause, _, _ := strings.Cut(line, " ")
		return !slices.Contains([]string{"Create", "Update", "Delete"}, cause)
	})
}

// run starts an endpoint as a process of its own, and waits until it listens.
func (e *example) run(command []string, env ...string) {
	e.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), append(env, "ADDRESS="+e.address, fmt.Sprintf("PORT=%d", e.port),
		"CERT_DIR="+filepath.Join(e.dir, "tls"), "KEY_DIR="+filepath.Join(e.dir, "signing"), "PYTHONDONTWRITEBYTECODE=1")...)
	cmd.Stdout, cmd.Stderr = &e.log, &e.log
	if err := cmd.Start(); err != nil {
		e.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	e.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(settle):
			e.Error("the endpoint has not ended at SIGTERM")
			_ = cmd.Process.Kill()
			<-ended
		}
		if e.Failed() {
			e.Logf("log of the endpoint:\n%s", strings.Join(e.log.lines(), "\n"))
		}
	})
	rigtest.Eventually(e, settle, func() error {
		select {
		case <-ended:
			e.Fatalf("the endpoint ended with %s:\n%s", cmd.ProcessState, strings.Join(e.log.lines(), "\n"))
		default:
		}
		connection, err := net.Dial("tcp", net.JoinHostPort(e.address, fmt.Sprint(e.port)))
		if err != nil {
			return err
		}
		return connection.Close()
	})
}

// certify gives the endpoint a certificate, and the set its authority.
func (e *example) certify() *tls.Config {
	e.Helper()
	name := "myapp." + e.namespace + ".svc"
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		e.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		e.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		e.Fatal(err)
	}
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	entries := map[string]string{"tls.crt": encode("CERTIFICATE", certificate), "tls.key": encode("PRIVATE KEY", private)}
	e.mount("tls", entries)
	entries["ca.crt"] = entries["tls.crt"]
	e.secret("myapp-tls", entries)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(entries["ca.crt"]))
	return &tls.Config{RootCAs: pool, ServerName: name}
}

func errorUnless(holds bool, format string, arguments ...any) error {
	if holds {
		return nil
	}
	return fmt.Errorf(format, arguments...)
}
