package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
)

// sent is the review that a handler makes of a request, as plain JSON.
func sent(t testing.TB, e Endpoint, r *handler.RawRequest) map[string]any {
	t.Helper()
	e.URL = "https://hooks.example.com/"
	before, old := r.Object.DeepCopy(), r.Old.DeepCopy()
	body, _, err := handlerOf(t, e, Shared{}).review(t.Context(), r, "uid-1")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, r.Object) || !reflect.DeepEqual(old, r.Old) {
		t.Error("the object was changed")
	}
	var review map[string]any
	if err := json.Unmarshal(body, &review); err != nil {
		t.Fatal(err)
	}
	return review["request"].(map[string]any)
}

// wantJSON compares plain JSON with text in YAML.
func wantJSON(t testing.TB, got any, text string) {
	t.Helper()
	var want any
	if err := yaml.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestARequestHasAllOfWhatAHandlerIsTold(t *testing.T) {
	t.Parallel()
	r := request()
	r.Cause, r.LastAttempt, r.Deadline = handler.Update, true, r.Started.Add(time.Hour)
	r.Payloads = map[string]json.RawMessage{"certificates/first": json.RawMessage(`{"a":1}`), "certificates/myapp": json.RawMessage(`"x"`)}
	r.Old = certificate()
	unstructured.RemoveNestedField(r.Old.Object, "status")
	r.Changes = []handler.Change{{Path: "spec.dnsNames", Old: []any{"a"}, New: []any{"a", "b"}}, {Path: "spec.isCA", New: false}, {Path: "spec.size", Old: int64(3)}}
	e := to(serve(t, nil))
	e.SetNamespace = "shop"
	wantJSON(t, sent(t, e, r), `
uid: uid-1
handler: {set: certificates, namespace: shop, id: myapp}
resource: {group: cert-manager.io, version: v1, resource: certificates}
kind: {group: cert-manager.io, version: v1, kind: Certificate}
cause: Update
object:
  apiVersion: cert-manager.io/v1
  kind: Certificate
  metadata: {name: web, namespace: shop, uid: 1b5a0b5e, generation: 3, resourceVersion: "77", annotations: {team: shop}, labels: {app: web}}
  spec: {secretName: web-tls, dnsNames: [a.example.com, b.example.com], issuerRef: {name: ca}}
  status: {revision: 2}
old:
  apiVersion: cert-manager.io/v1
  kind: Certificate
  metadata: {name: web, namespace: shop, uid: 1b5a0b5e, generation: 3, resourceVersion: "77", annotations: {team: shop}, labels: {app: web}}
  spec: {secretName: web-tls, dnsNames: [a.example.com, b.example.com], issuerRef: {name: ca}}
changes:
- {path: spec.dnsNames, old: [a], new: [a, b]}
- {path: spec.isCA, new: false}
- {path: spec.size, old: 3}
known: true
attempt: 2
lastAttempt: true
started: "2023-11-14T22:13:20Z"
deadline: "2023-11-14T23:13:20Z"
idempotencyID: Zm9vYmFyYmF6cXV4
fence: 7
by: alice
payloads: {certificates/first: {a: 1}, certificates/myapp: x}
`)
}

func TestWhatIsNotKnownIsAbsent(t *testing.T) {
	t.Parallel()
	r := request()
	r.By = ""
	got := sent(t, Endpoint{}, r)
	for _, name := range []string{"old", "changes", "deadline", "by", "payloads", "capabilities", "callback"} {
		if v, ok := got[name]; ok {
			t.Errorf("%s is %v: want none", name, v)
		}
	}
	if got["known"] != false || got["lastAttempt"] != false {
		t.Errorf("known is %v, lastAttempt %v: want false", got["known"], got["lastAttempt"])
	}
}

func TestAProjectionSendsItsFieldsAndWhatNamesTheObject(t *testing.T) {
	t.Parallel()
	const name = `{name: web, namespace: shop, uid: 1b5a0b5e, generation: 3, resourceVersion: "77"`
	for fields, want := range map[string]string{
		"spec.dnsNames":                  `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: ` + name + `}, spec: {dnsNames: [a.example.com, b.example.com]}}`,
		"spec.issuerRef.name status":     `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: ` + name + `}, spec: {issuerRef: {name: ca}}, status: {revision: 2}}`,
		"spec.issuerRef.name spec.a.b.c": `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: ` + name + `}, spec: {issuerRef: {name: ca}}}`,
		"spec.secretName.x none":         `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: ` + name + `}}`,
		"metadata.annotations['team']":   `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: ` + name + `, annotations: {team: shop}}}`,
		"status status.revision":         `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: ` + name + `}, status: {revision: 2}}`,
		"metadata.labels metadata":       `{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: ` + name + `, annotations: {team: shop}, labels: {app: web}}}`,
	} {
		t.Run(fields, func(t *testing.T) {
			t.Parallel()
			wantJSON(t, sent(t, Endpoint{Projection: strings.Fields(fields)}, request())["object"], want)
		})
	}
}

func TestAProjectionNarrowsChanges(t *testing.T) {
	t.Parallel()
	r := request()
	r.Old = certificate()
	r.Changes = []handler.Change{{Path: "metadata.labels['a/b']", New: "x"}, {Path: "spec.dnsNames", New: "x"}, {Path: "spec.issuerRef.name", New: "x"}, {Path: "spec.issuerRefs", New: "x"}}
	got := sent(t, Endpoint{Projection: []string{"spec.issuerRef", "metadata.labels['a/b']"}}, r)
	wantJSON(t, got["changes"], `[{path: "metadata.labels['a/b']", new: x}, {path: spec.issuerRef.name, new: x}]`)
	if _, ok := got["old"].(map[string]any)["status"]; ok {
		t.Error("old is not projected")
	}
}

const secretText = `{"apiVersion":"v1","kind":"Secret","type":"Opaque","metadata":{"name":"db","namespace":"shop","uid":"1",
	"labels":{"app":"db"},"annotations":{"team":"shop","kubectl.kubernetes.io/last-applied-configuration":"{\"stringData\":{\"password\":\"hunter2\"}}"}},
	"data":{"password":"aHVudGVyMg==","empty":""},"stringData":{"more":"hunter2"}}`

func secretRequest() *handler.RawRequest {
	r := request()
	r.Object, r.Old = parse(secretText), parse(secretText)
	r.Changes = []handler.Change{
		{Path: "data.password", Old: "aHVudGVyMg==", New: "aHVudGVyMw=="}, {Path: "data['tls.crt']", New: "aHVudGVyMw=="},
		{Path: "data", Old: map[string]any{"password": "hunter2"}}, {Path: "stringData.more", Old: "hunter2"},
		{Path: "metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']", Old: "hunter2"},
		{Path: "metadata.annotations", New: map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}},
		{Path: "metadata.labels.app", Old: "web", New: "db"}, {Path: "[not a path", Old: "hunter2"},
	}
	return r
}

func TestValuesOfSecretsAreNotSent(t *testing.T) {
	t.Parallel()
	got := sent(t, Endpoint{}, secretRequest())
	text, _ := json.Marshal(got)
	for _, value := range []string{"hunter", "aHVudGVy"} {
		if bytes.Contains(text, []byte(value)) {
			t.Errorf("%s was sent: %s", value, text)
		}
	}
	const object = `{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: db, namespace: shop, uid: "1", labels: {app: db}, annotations: {team: shop}}, data: {password: "", empty: ""}, stringData: {more: ""}}`
	wantJSON(t, got["object"], object)
	wantJSON(t, got["old"], object)
	wantJSON(t, got["changes"], `
- {path: data.password, old: "", new: ""}
- {path: "data['tls.crt']", new: ""}
- {path: data, old: {password: ""}}
- {path: stringData.more, old: ""}
- {path: "metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']", old: ""}
- {path: metadata.annotations, new: {"kubectl.kubernetes.io/last-applied-configuration": ""}}
- {path: metadata.labels.app, old: web, new: db}
- {path: "[not a path", old: ""}
`)
	projected := sent(t, Endpoint{Projection: []string{"data.password", "metadata.annotations"}}, secretRequest())
	wantJSON(t, projected["object"], `{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: shop, uid: "1", annotations: {team: shop}}, data: {password: ""}}`)
}

func TestValuesOfSecretsAreSentToWhoAsksForThem(t *testing.T) {
	t.Parallel()
	got := sent(t, Endpoint{IncludeSecretData: true}, secretRequest())["object"].(map[string]any)
	wantJSON(t, got["data"], `{password: aHVudGVyMg==, empty: ""}`)
}

// TestWhatIsSentIsInNoError: an endpoint that answers with what it was sent
// gets none of it into an error.
func TestWhatIsSentIsInNoError(t *testing.T) {
	t.Parallel()
	for _, status := range []int{200, 400, 500} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "Traceback: ")
			_, _ = io.Copy(w, r.Body)
		})
		e := to(server)
		e.IncludeSecretData, e.URL = true, e.URL+"?token=hunter2"
		r := secretRequest()
		got, _ := runWith(t, handlerOf(t, e, loopback()), r)
		if strings.Contains(got.Message, "hunter") || strings.Contains(got.Message, "aHVu") || got.Payload != nil {
			t.Errorf("status %d: %s", status, got.Message)
		}
	}
}

func TestHeadersOfARequest(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 1)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		headers <- r.Header
		w.WriteHeader(http.StatusNoContent)
	})
	shared := loopback()
	shared.UserAgent = "dogear/v1.2.3"
	h := handlerOf(t, to(server), shared)
	run(t, h)
	got := <-headers
	for name, want := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "dogear/v1.2.3",
		"Webhook-Id": request().IdempotencyID, "Webhook-Signature": "", "Authorization": "", "Cookie": "", "X-Idempotency-Key": "",
	} {
		if value := got.Get(name); value != want {
			t.Errorf("%s is %q: want %q", name, value, want)
		}
	}
	first := got.Get("Traceparent")
	run(t, h)
	if second := (<-headers).Get("Traceparent"); !traceparent.MatchString(first) || !traceparent.MatchString(second) || first[3:35] == second[3:35] {
		t.Errorf("traces are %q and %q: want a new one each", first, second)
	}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if _, err := h.Run(WithTraceparent(t.Context(), parent), request()); err != nil {
		t.Fatal(err)
	}
	if got := (<-headers).Get("Traceparent"); got != parent {
		t.Errorf("the trace is %q: want that of the context", got)
	}
}

func TestATraceparentThatIsNotValidIsDropped(t *testing.T) {
	t.Parallel()
	for _, parent := range []string{
		"", "x", "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\nX: y",
	} {
		if got := traceparentOf(WithTraceparent(t.Context(), parent)); got == parent || !traceparent.MatchString(got) {
			t.Errorf("%q becomes %q: want a new one", parent, got)
		}
	}
}

func TestAnEndpointThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	service := &Service{Namespace: "a", Name: "b"}
	for text, e := range map[string]Endpoint{
		"want just one of them":               {},
		"URL, Service: want just one":         {URL: "https://a/", Service: service},
		`the scheme is "http": want "https"`:  {URL: "http://a/"},
		`the scheme is "https": want "http"`:  {URL: "https://a/", Plaintext: true},
		`the scheme is "file"`:                {URL: "file:///etc/passwd"},
		"want a host":                         {URL: "https:///x"},
		"cannot be parsed":                    {URL: "https://a:b:c/?token=hunter2"},
		"no user, password or fragment":       {URL: "https://user:pass@a/"},
		"URL: want no user":                   {URL: "https://a/#x"},
		"want a name, a namespace and a port": {Service: &Service{Name: "b"}},
		"a port from 1 to 65535":              {Service: &Service{Namespace: "a", Name: "b", Port: 70000}},
		"HeaderTimeout: want more than 0":     {URL: "https://a/", Timeout: -1},
		"Poll is 48h0m0s":                     {URL: "https://a/", Poll: 48 * time.Hour},
		`projection: field path "a b"`:        {URL: "https://a/", Projection: []string{"a b"}},
		"picks an item of a list":             {URL: "https://a/", Projection: []string{"status.conditions[type=Ready]"}},
	} {
		_, err := New(e, Shared{})
		if err == nil || !strings.Contains(err.Error(), text) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got %v: want %q", err, text)
		}
	}
}

func TestWhereRequestsArePosted(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]Endpoint{
		"https://a.example.com/x?y=z": {URL: "https://a.example.com/x?y=z"},
		"https://b.a.svc/":            {Service: &Service{Namespace: "a", Name: "b"}},
		"https://b.a.svc:8443/x%20y":  {Service: &Service{Namespace: "a", Name: "b", Port: 8443, Path: "/x%20y"}},
		"http://b.a.svc:80/x":         {Service: &Service{Namespace: "a", Name: "b", Path: "x"}, Plaintext: true},
	} {
		if h := handlerOf(t, e, Shared{}); h.target != want {
			t.Errorf("got %s: want %s", h.target, want)
		}
	}
}

func TestACallbackIsOffered(t *testing.T) {
	t.Parallel()
	callback := &v1alpha1.HandlerReviewCallback{URL: "https://dogear.example.com/callback/t", Token: "t"}
	e := Endpoint{Callback: func(_ context.Context, _ *handler.RawRequest, uid string) (*v1alpha1.HandlerReviewCallback, error) {
		if uid != "uid-1" {
			t.Errorf("uid is %q", uid)
		}
		return callback, nil
	}}
	got := sent(t, e, request())
	if got["callback"].(map[string]any)["token"] != "t" {
		t.Errorf("callback is %v", got["callback"])
	}
	wantJSON(t, got["capabilities"], "[Callback]")

	e.Callback = func(context.Context, *handler.RawRequest, string) (*v1alpha1.HandlerReviewCallback, error) {
		return nil, nil
	}
	if got := sent(t, e, request()); got["capabilities"] != nil || got["callback"] != nil {
		t.Errorf("got %v, %v: want none", got["capabilities"], got["callback"])
	}
	e.Callback = func(context.Context, *handler.RawRequest, string) (*v1alpha1.HandlerReviewCallback, error) {
		return nil, errors.New("no keys")
	}
	e.URL = "https://hooks.example.com/"
	want(t, run(t, handlerOf(t, e, Shared{})), handler.Waiting, ReasonEndpointMissing, "callback: no keys")
}
