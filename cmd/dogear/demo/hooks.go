package demo

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/webhook/cert"
)

// endpoints are the names of those of the demo: each is a Service.
var endpoints = []string{"pki", "dns"}

const (
	endpointPort = 18443     // 8443 is often taken
	signingKey   = "signing" // a Secret
)

// startEndpoints starts the endpoints, each as a process behind a Service, with
// a certificate of its own and the key of Dogear's requests.
func (d *demo) startEndpoints(ctx context.Context, died context.CancelCauseFunc) (string, error) {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // never fails
	key := "whsec_" + base64.StdEncoding.EncodeToString(random)
	objects := []client.Object{&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: hooksNamespace, Name: signingKey}, StringData: map[string]string{"key": key}}}
	for _, name := range endpoints {
		objects = append(objects, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: hooksNamespace, Name: name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: endpointPort}}},
		})
	}
	for _, object := range objects {
		if err := d.admin.Create(ctx, object); err != nil {
			return "", fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
		}
	}
	var pids []any
	for i, name := range endpoints {
		pid, err := d.startEndpoint(ctx, name, objects[1+i].(*corev1.Service).Spec.ClusterIP, key, died)
		if err != nil {
			return "", fmt.Errorf("endpoint %s: %w", name, err)
		}
		pids = append(pids, pid)
	}
	return fmt.Sprintf("Services pki (process %d) and dns (%d) in namespace %q", append(pids, hooksNamespace)...), nil
}

func (d *demo) startEndpoint(ctx context.Context, name, ip, key string, died context.CancelCauseFunc) (pid int, err error) {
	secret := client.ObjectKey{Namespace: hooksNamespace, Name: name + "-tls"}
	certificates := &cert.Manager{Client: d.admin, Secret: secret, Names: cert.ServiceNames(hooksNamespace, name)}
	if _, err := certificates.Ensure(ctx); err != nil {
		return 0, err
	}
	stored := &corev1.Secret{}
	if err := d.admin.Get(ctx, secret, stored); err != nil {
		return 0, err
	}
	args := []string{HookCommand, "--address=" + net.JoinHostPort(ip, strconv.Itoa(endpointPort))}
	for flag, entry := range map[string]string{"--certificate": corev1.TLSCertKey, "--private-key": corev1.TLSPrivateKeyKey} {
		file := filepath.Join(d.dir, name+"."+entry)
		if err := os.WriteFile(file, stored.Data[entry], 0o600); err != nil {
			return 0, err
		}
		args = append(args, flag+"="+file)
	}
	p, err := d.spawn("endpoint "+name, name+".log", []string{KeyVariable + "=" + key}, args, died)
	if err != nil {
		return 0, err
	}
	return p.cmd.Process.Pid, nil
}
