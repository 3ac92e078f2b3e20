package rig

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/apimachinery/pkg/runtime"
)

// URL returns the address of the API server, "https://127.0.0.1:port".
func (cp *ControlPlane) URL() string { return "https://" + loopback(cp.ports.apiserver) }

// EtcdURL returns the address of etcd, "http://127.0.0.1:port".
func (cp *ControlPlane) EtcdURL() string { return "http://" + loopback(cp.ports.etcd) }

// ServiceRange returns the range of ClusterIPs, a /24 inside 127.0.0.0/8 that
// no other running rig has. A webhook configuration that names a Service is
// really called when something listens on the Service's ClusterIP and port.
func (cp *ControlPlane) ServiceRange() string { return serviceRange(cp.ports.apiserver) }

// CA returns the certificate authority of the API server, PEM encoded.
func (cp *ControlPlane) CA() []byte { return append([]byte(nil), cp.authority.pem...) }

// AdminConfig returns a new configuration for a client that may do everything,
// with no limit on its rate. It goes by client certificate (system:masters).
func (cp *ControlPlane) AdminConfig() *rest.Config {
	config := cp.anonymous()
	config.CertData, config.KeyData = cp.admin.cert, cp.admin.key
	return config
}

func (cp *ControlPlane) anonymous() *rest.Config {
	return &rest.Config{Host: cp.URL(), TLSClientConfig: rest.TLSClientConfig{CAData: cp.CA()}, QPS: -1}
}

// Kubeconfig writes a kubeconfig of the administrator to path.
func (cp *ControlPlane) Kubeconfig(path string) error { return WriteKubeconfig(path, cp.AdminConfig()) }

// WriteKubeconfig writes a kubeconfig to path that speaks as config does, by
// certificate or token. Only its owner can read the file.
func WriteKubeconfig(path string, config *rest.Config) error {
	file := clientcmdapi.NewConfig()
	file.Clusters["rig"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	file.AuthInfos["rig"] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
	}
	file.Contexts["rig"] = &clientcmdapi.Context{Cluster: "rig", AuthInfo: "rig"}
	file.CurrentContext = "rig"
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		return fmt.Errorf("write kubeconfig %q: %w", path, err)
	}
	return nil
}

// Client returns the administrator's client, always the same, without a cache.
// It knows the built-in kinds and CustomResourceDefinition, and any other kind
// as unstructured.
func (cp *ControlPlane) Client() (client.Client, error) { return cp.client() }

func (cp *ControlPlane) newClient() (client.Client, error) {
	kinds := runtime.NewScheme()
	if err := scheme.AddToScheme(kinds); err != nil {
		return nil, err
	}
	if err := apiextensionsv1.AddToScheme(kinds); err != nil {
		return nil, err
	}
	return client.New(cp.AdminConfig(), client.Options{Scheme: kinds})
}

// probe returns a client of the administrator that opens a connection for each
// request, so that none hangs on a server that was killed.
func (cp *ControlPlane) probe() (*http.Client, error) {
	certificate, err := tls.X509KeyPair(cp.admin.cert, cp.admin.key)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(cp.authority.cert)
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}},
	}}, nil
}
