package service

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// endpoint is one behind a Service of the test's namespace.
type endpoint struct {
	*bench
	name   string
	port   int
	ca     []byte
	server *httptest.Server

	mu       sync.Mutex
	requests []*v1alpha1.HandlerReviewRequest
	answer   func(*v1alpha1.HandlerReviewRequest) *v1alpha1.HandlerReviewResponse
	raw      http.HandlerFunc // goes before answer
}

// endpoint serves a Service; answer makes the answers, nil says Succeeded.
func (b *bench) endpoint(name string, answer func(*v1alpha1.HandlerReviewRequest) *v1alpha1.HandlerReviewResponse) *endpoint {
	b.Helper()
	_, text, err := net.SplitHostPort(freeAddress(b)) // which other programs may listen to everywhere
	if err != nil {
		b.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.namespace, Name: name, Labels: map[string]string{"endpoint": "yes"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: int32(port)}}},
	}
	if err := b.admin.Create(b.Context(), service); err != nil {
		b.Fatal(err)
	}
	e := &endpoint{bench: b, name: name, port: port, answer: answer}
	listener, err := net.Listen("tcp", net.JoinHostPort(service.Spec.ClusterIP, text))
	if err != nil {
		b.Fatal(err)
	}
	certificate, ca := authority(b, name+"."+b.namespace+".svc", net.ParseIP(service.Spec.ClusterIP))
	e.ca = ca
	e.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}, TLS: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	e.server.StartTLS()
	b.Cleanup(e.server.Close)
	return e
}

// http is the endpoint in the words of a set.
func (e *endpoint) http() string {
	return fmt.Sprintf("{service: {namespace: %s, name: %s, port: %d, path: /hook}, caBundle: %s}",
		e.namespace, e.name, e.port, e.bundle())
}

// local is the endpoint in the words of a HandlerSet.
func (e *endpoint) local() string {
	return fmt.Sprintf("{service: {name: %s, port: %d, path: /hook}, caBundle: %s}",
		e.name, e.port, e.bundle())
}

// bundle is the endpoint's CA as a set has it.
func (e *endpoint) bundle() string { return base64.StdEncoding.EncodeToString(e.ca) }

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	raw, answer := e.raw, e.answer
	e.mu.Unlock()
	review := &v1alpha1.HandlerReview{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || review.Request == nil {
		http.Error(w, "no HandlerReview", http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	e.requests = append(e.requests, review.Request)
	e.mu.Unlock()
	if raw != nil {
		raw(w, r)
		return
	}
	response := &v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeSucceeded}
	if answer != nil {
		response = answer(review.Request)
	}
	response.UID = review.Request.UID
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v1alpha1.HandlerReview{TypeMeta: review.TypeMeta, Response: response})
}

func (e *endpoint) set(raw http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.raw = raw
}

// calls are the requests so far.
func (e *endpoint) calls() []*v1alpha1.HandlerReviewRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*v1alpha1.HandlerReviewRequest(nil), e.requests...)
}

// authority makes a certificate for a name and an address, and returns its CA.
func authority(b *bench, name string, ip net.IP) (tls.Certificate, []byte) {
	b.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, IPAddresses: []net.IP{ip},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		b.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
