package remote

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
)

// patience bounds what a test waits for; nothing waits that long if all is well.
const patience = 30 * time.Second

// serve starts a TLS server on loopback.
func serve(t testing.TB, f http.HandlerFunc, options ...func(*http.Server)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(f)
	server.Config.ErrorLog = quiet
	for _, option := range options {
		option(server.Config)
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

// caOf is the certificate that a server has, as the authority to trust.
func caOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func fixed[T any](v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return v, nil }
}

// to is an Endpoint at a server on loopback.
func to(server *httptest.Server) Endpoint {
	return Endpoint{
		Set: "certificates", ID: "myapp", URL: server.URL + "/certificates", CAs: fixed(caOf(server)), ServerName: "example.com",
		Resource: schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"},
		Timeout:  patience,
	}
}

// loopback is what endpoints share in tests.
func loopback() Shared { return Shared{Guard: Guard{AllowLoopback: true}} }

func handlerOf(t testing.TB, e Endpoint, shared Shared) *Handler {
	t.Helper()
	h, err := New(e, shared)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

// certificate is the object of a request.
func certificate() *unstructured.Unstructured {
	return parse(`{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{
		"name":"web","namespace":"shop","uid":"1b5a0b5e","generation":3,"resourceVersion":"77",
		"annotations":{"dogear.dev/state":"Pending","team":"shop"},"labels":{"app":"web"},
		"managedFields":[{"manager":"kubectl"}]},
		"spec":{"secretName":"web-tls","dnsNames":["a.example.com","b.example.com"],"issuerRef":{"name":"ca"}},
		"status":{"revision":2}}`)
}

func parse(text string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		panic(err)
	}
	return u
}

func request() *handler.RawRequest {
	return &handler.RawRequest{Object: certificate(), Info: handler.Info{
		HandlerID: "certificates/myapp", Cause: handler.Create, Attempt: 2, Started: time.Unix(1700000000, 0),
		IdempotencyID: "Zm9vYmFyYmF6cXV4", Fence: 7, By: "alice", Patch: &handler.Patch{},
	}}
}

// run calls the endpoint once and classifies what came of it.
func run(t testing.TB, h *Handler) handler.Outcome {
	t.Helper()
	outcome, _ := runWith(t, h, request())
	return outcome
}

func runWith(t testing.TB, h *Handler, r *handler.RawRequest) (handler.Outcome, *handler.Patch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	result, err := h.Run(ctx, r)
	return handler.Classify(result, err, handler.RetryError), r.Patch
}

// reviewOf reads the request that an endpoint was sent.
func reviewOf(r *http.Request) *v1alpha1.HandlerReviewRequest {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	var review v1alpha1.HandlerReview
	if err := json.Unmarshal(body, &review); err != nil {
		panic(err)
	}
	return review.Request
}

// respond answers with a response, "UID" in which becomes that of the request.
func respond(w http.ResponseWriter, r *http.Request, response string) {
	uid := reviewOf(r).UID
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview","response":`+strings.ReplaceAll(response, "UID", uid)+`}`)
}

// answering is an endpoint that always gives that response.
func answering(response string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { respond(w, r, response) }
}

// want checks an outcome; text must be in its message.
func want(t testing.TB, o handler.Outcome, kind handler.OutcomeKind, reason, text string) {
	t.Helper()
	if o.Kind != kind || o.Reason != reason || !strings.Contains(o.Message, text) {
		t.Errorf("got  %s, reason %q, message %q\nwant %s, reason %q, message with %q", o.Kind, o.Reason, o.Message, kind, reason, text)
	}
}

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting until %s", what)
		}
	}
}

// quiet drops what servers log of clients that break off.
var quiet = log.New(io.Discard, "", 0)

func prefixes(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// at is a clock that stands still.
func at(now time.Time) clock.PassiveClock { return testingclock.NewFakePassiveClock(now) }
