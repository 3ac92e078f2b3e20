package chart

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/test/rig"
)

// call is a request that an endpoint got.
type call struct {
	Name, UID, ID string // of the object; of the idempotency
	Cause         v1alpha1.Cause
	Attempt       int32
	Fence         int64
	At            time.Time
}

// endpoint is one behind a Service of the users' namespace. It outlives Pods.
type endpoint struct {
	*bench
	name string
	port int

	mu     sync.Mutex
	all    []call
	answer func(call) v1alpha1.HandlerReviewResponse
}

// endpoint serves a Service; answer makes the answers, nil says Succeeded.
func (b *bench) endpoint(name string, answer func(call) v1alpha1.HandlerReviewResponse) *endpoint {
	b.Helper()
	address, err := rig.FreeAddress()
	if err != nil {
		b.Fatal(err)
	}
	_, text, _ := net.SplitHostPort(address)
	port, err := strconv.Atoi(text)
	if err != nil {
		b.Fatal(err)
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: b.objects, Name: name},
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
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: e, ReadHeaderTimeout: time.Minute}}
	server.Start()
	b.Cleanup(server.Close)
	return e
}

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review := &v1alpha1.HandlerReview{}
	object := &metav1.PartialObjectMetadata{}
	if err := json.NewDecoder(r.Body).Decode(review); err != nil || json.Unmarshal(review.Request.Object, object) != nil {
		http.Error(w, "no review", http.StatusBadRequest)
		return
	}
	q := review.Request
	c := call{Name: object.Name, UID: string(object.UID), ID: q.IdempotencyID, Cause: q.Cause, Attempt: q.Attempt, Fence: q.Fence, At: time.Now()}
	e.mu.Lock()
	e.all = append(e.all, c)
	answer := e.answer
	e.mu.Unlock()
	response := v1alpha1.HandlerReviewResponse{Outcome: v1alpha1.OutcomeSucceeded}
	if answer != nil {
		response = answer(c)
	}
	response.UID = q.UID
	review.Request, review.Response = nil, &response
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// become changes what is answered.
func (e *endpoint) become(answer func(call) v1alpha1.HandlerReviewResponse) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

// calls are those up to now.
func (e *endpoint) calls() []call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]call(nil), e.all...)
}

// of are the calls for an object.
func (e *endpoint) of(name string) (found []call) {
	for _, c := range e.calls() {
		if c.Name == name {
			found = append(found, c)
		}
	}
	return found
}

// http is the endpoint in the words of a set.
func (e *endpoint) http() string {
	return fmt.Sprintf("{service: {namespace: %s, name: %s, port: %d}, plaintext: true}", e.objects, e.name, e.port)
}

// local is the endpoint in the words of a HandlerSet.
func (e *endpoint) local() string {
	return strings.Replace(e.http(), "namespace: "+e.objects+", ", "", 1)
}
