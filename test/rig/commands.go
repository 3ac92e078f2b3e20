package rig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// DefaultControllers are what kube-controller-manager runs. Its collector of
// owned objects learns of new CRDs only every 30 s; a Restart teaches it now.
var DefaultControllers = []string{
	"namespace-controller", "garbage-collector-controller",
	"serviceaccount-controller", "clusterrole-aggregation-controller",
}

func (cp *ControlPlane) etcd() (*Process, error) {
	// The name is unique, so that no other rig's etcd is taken for this one.
	name := filepath.Base(cp.dir) + "-" + strconv.Itoa(cp.ports.etcd)
	client, peer := cp.EtcdURL(), "http://"+loopback(cp.ports.peer)
	args := append([]string{
		"--name=" + name,
		"--data-dir=" + filepath.Join(cp.dir, "etcd"),
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=" + name + "=" + peer,
		"--unsafe-no-fsync", // survives a killed process, not a crashed machine
		"--log-level=warn",
	}, cp.options.EtcdArgs...)
	probe := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return newProcess(Etcd, cp.dir, args, func(ctx context.Context) error {
		return expect(ctx, probe, http.MethodPost, client+"/v3/cluster/member/list", `"name":"`+name+`"`)
	})
}

func (cp *ControlPlane) apiserver() (*Process, error) {
	args := []string{
		"--etcd-servers=" + cp.EtcdURL(),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(cp.ports.apiserver),
		"--tls-cert-file=" + cp.file("server.crt"), "--tls-private-key-file=" + cp.file("server.key"),
		"--client-ca-file=" + cp.file("ca.crt"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + cp.file("accounts.pub"),
		"--service-account-signing-key-file=" + cp.file("accounts.key"),
		// ClusterIPs are loopback addresses, which are refused as endpoints.
		"--service-cluster-ip-range=" + cp.ServiceRange(), "--endpoint-reconciler-type=none",
		"--allow-privileged=true", "--profiling=false", "--shutdown-delay-duration=0s",
	}
	if !cp.options.ControllerManager {
		// Nobody makes the account "default" without which it refuses every pod.
		args = append(args, "--disable-admission-plugins=ServiceAccount")
	}
	if cp.options.AuditPolicy != "" {
		policy := cp.file("audit-policy.yaml")
		if err := os.WriteFile(policy, []byte(cp.options.AuditPolicy), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--audit-policy-file="+policy, "--audit-log-path="+cp.AuditLog())
	}
	probe, err := cp.probe()
	if err != nil {
		return nil, err
	}
	return newProcess(APIServer, cp.dir, append(args, cp.options.APIServerArgs...), func(ctx context.Context) error {
		if err := expect(ctx, probe, http.MethodGet, cp.URL()+"/readyz", "ok"); err != nil {
			return err
		}
		return expect(ctx, probe, http.MethodGet, cp.URL()+"/api/v1/namespaces/default", `"uid"`)
	})
}

func (cp *ControlPlane) controllerManager() (*Process, error) {
	kubeconfig := cp.file("controller-manager.kubeconfig")
	if err := cp.Kubeconfig(kubeconfig); err != nil {
		return nil, err
	}
	controllers := cp.options.Controllers
	if len(controllers) == 0 {
		controllers = DefaultControllers
	}
	args := []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--controllers=" + strings.Join(controllers, ","),
		"--use-service-account-credentials", "--leader-elect=false",
		"--service-account-private-key-file=" + cp.file("accounts.key"), "--root-ca-file=" + cp.file("ca.crt"),
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(cp.ports.manager),
		"--tls-cert-file=" + cp.file("server.crt"), "--tls-private-key-file=" + cp.file("server.key"),
		"--kube-api-qps=500", "--kube-api-burst=1000", "--profiling=false",
	}
	probe, err := cp.probe()
	if err != nil {
		return nil, err
	}
	return newProcess(ControllerManager, cp.dir, append(args, cp.options.ControllerManagerArgs...), func(ctx context.Context) error {
		return expect(ctx, probe, http.MethodGet, "https://"+loopback(cp.ports.manager)+"/healthz", "ok")
	})
}

// AuditLog is the file of the API server's audit events, a line of JSON each.
func (cp *ControlPlane) AuditLog() string { return cp.file("audit.log") }

func (cp *ControlPlane) file(name string) string { return filepath.Join(cp.dir, name) }

// expect fails unless the answer is a 200 that holds text. A server that does
// not answer within 3 s (a paused one) is an error too.
func expect(ctx context.Context, client *http.Client, method, url, text string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var query io.Reader
	if method == http.MethodPost {
		query = strings.NewReader("{}")
	}
	request, err := http.NewRequestWithContext(ctx, method, url, query)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(text)) {
		return fmt.Errorf("%s %s: %s: %.300s", method, url, response.Status, body)
	}
	return nil
}
