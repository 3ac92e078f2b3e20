package endpoints

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// speaks tests an endpoint of handlerset.yaml: what becomes of Certificates,
// what it refuses, and that keys can be changed.
func (e *example) speaks(command ...string) {
	old := newKey(e)
	caller := e.sign(old)
	e.run(command)
	e.apply("handlerset.yaml")
	e.ready()
	if !e.lives() || e.Failed() {
		return
	}
	caller.refusals()
	e.rejectsOtherKeys(old)
	e.changesKeys(old)
	caller.bearsBadFiles()
}

// sign sets up what handlerset.yaml refers to, with a key.
func (e *example) sign(key string) *caller {
	e.Helper()
	e.apply("service.yaml")
	authority := e.certify()
	e.secret("myapp-signing", map[string]string{"key": key})
	e.mount("signing", map[string]string{"key": key})
	c := &caller{example: e, key: key, client: &http.Client{Transport: &http.Transport{TLSClientConfig: authority}, Timeout: settle}}
	e.Cleanup(c.client.CloseIdleConnections)
	return c
}

func newKey(t testing.TB) string {
	t.Helper()
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
}

// lives sees a Certificate through its life, and says whether that went well.
func (e *example) lives() bool {
	web := e.certificate("web")
	e.expect(web, "Succeeded",
		"Pending", `Retrying {"phase":"Pending"}`, `Succeeded {"names":["web.example.com"],"phase":"Ready"}`)
	e.patch(web, `{"spec":{"dnsNames":["a.example.com","b.example.com"]}}`)
	e.expect(web, "Succeeded",
		`Pending {"names":["web.example.com"],"phase":"Ready"}`, `Retrying {"phase":"Pending"}`,
		`Succeeded {"names":["a.example.com","b.example.com"],"phase":"Ready"}`)
	e.remove(web)
	want := []string{
		"Create web: Retrying", "Create web: Succeeded", "Update web: Retrying", "Update web: Succeeded", "Delete web: Succeeded",
	}
	if have := e.log.calls(); !slices.Equal(have, want) {
		e.Errorf("the endpoint was called\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
		return false
	}
	return true
}

// rejectsOtherKeys: to an endpoint with another key, Dogear's signature is a
// forged one. It is not called again with it, but when somebody asks for that.
func (e *example) rejectsOtherKeys(key string) {
	e.mount("signing", map[string]string{"key": newKey(e)})
	u := e.certificate("refused")
	e.expect(u, "Failed", "Pending", "Failed")
	if reason := e.reason(u); reason != "HTTP401" {
		e.Errorf("the reason is %q, want HTTP401", reason)
	}
	e.mount("signing", map[string]string{"key": key})
	e.patch(u, `{"metadata":{"annotations":{"dogear.dev/retry":"*"}}}`)
	e.expect(u, "Succeeded")
	e.remove(u)
}

// changesKeys: as README.md has it. Dogear reads the Secret anew within 10 s,
// and a kubelet mounts it anew a minute later; no Certificate fails meanwhile.
func (e *example) changesKeys(old string) {
	key := newKey(e)
	both, only := map[string]string{"key": key, "previous": old}, map[string]string{"key": key}

	e.secret("myapp-signing", both)
	e.succeeds("changed-dogear-1")
	e.mount("signing", both)
	e.succeeds("changed-dogear-2")

	// From here on it succeeds only if Dogear signs with the new key.
	e.mount("signing", only)
	n := 0
	rigtest.Eventually(e, settle, func() error {
		n++
		if u, state := e.ends(fmt.Sprintf("changed-endpoint-%d", n)); state != "Succeeded" {
			return fmt.Errorf("%s: the reason is %q", u.GetName(), e.reason(u))
		}
		return nil
	})
	e.secret("myapp-signing", only)
	e.succeeds("changed-all")
}

// succeeds sees a new Certificate to its end.
func (e *example) succeeds(name string) {
	e.Helper()
	if u, state := e.ends(name); state != "Succeeded" {
		e.Errorf("%s: the reason is %q", name, e.reason(u))
	}
}

// ends waits until a new Certificate has succeeded or failed.
func (e *example) ends(name string) (u *unstructured.Unstructured, state string) {
	e.Helper()
	u = e.certificate(name)
	rigtest.Eventually(e, settle, func() error {
		if err := e.admin.Get(e.Context(), client.ObjectKeyFromObject(u), u); err != nil {
			return err
		}
		if state = u.GetAnnotations()["dogear.dev/state"]; state != "Succeeded" && state != "Failed" {
			return fmt.Errorf("%s: %v", name, u.GetAnnotations())
		}
		return nil
	})
	return u, state
}

const certificate = `{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":%q,"namespace":%q},
	"spec":{"secretName":"s","dnsNames":["%[1]s.example.com"],"issuerRef":{"name":"ca"}}}`

func (e *example) certificate(name string) *unstructured.Unstructured {
	e.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(fmt.Appendf(nil, certificate, name, e.namespace), &u.Object); err != nil {
		e.Fatal(err)
	}
	if err := e.admin.Create(e.Context(), u); err != nil {
		e.Fatal(err)
	}
	return u
}

func (e *example) patch(u *unstructured.Unstructured, body string) {
	e.Helper()
	if err := e.admin.Patch(e.Context(), u, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		e.Fatal(err)
	}
}

// remove deletes an object, and waits until it is gone.
func (e *example) remove(u *unstructured.Unstructured) {
	e.Helper()
	if err := e.admin.Get(e.Context(), client.ObjectKeyFromObject(u), u); err != nil {
		e.Fatal(err)
	}
	if want := []string{"dogear.dev/finalizer"}; !slices.Equal(u.GetFinalizers(), want) {
		e.Errorf("the finalizers are %q, want %q", u.GetFinalizers(), want)
	}
	if err := e.admin.Delete(e.Context(), u); err != nil {
		e.Fatal(err)
	}
	rigtest.Eventually(e, settle, func() error {
		if err := e.admin.Get(e.Context(), client.ObjectKeyFromObject(u), u); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s is still there: %v (%w)", u.GetName(), u.GetAnnotations(), err)
		}
		return nil
	})
}

// expect follows an object from u until a state. Every state with a payload that
// it was seen in must be as wanted; none wanted: any. u is as it was last then.
func (e *example) expect(u *unstructured.Unstructured, until string, want ...string) {
	e.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(u.GroupVersionKind())
	events, err := e.admin.Watch(e.Context(), list, client.InNamespace(u.GetNamespace()), client.MatchingFields{"metadata.name": u.GetName()},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: u.GetResourceVersion()}})
	if err != nil {
		e.Fatal(err)
	}
	defer events.Stop()
	have := []string{e.looks(u)}
	for timeout := time.After(settle); ; {
		select {
		case event, ok := <-events.ResultChan():
			fresh, isObject := event.Object.(*unstructured.Unstructured)
			if !ok || !isObject {
				e.Fatalf("the watch ended with %+v; so far %q", event, have)
			}
			fresh.DeepCopyInto(u)
			if now := e.looks(u); now != have[len(have)-1] {
				have = append(have, now)
			}
			if u.GetAnnotations()["dogear.dev/state"] != until {
				continue
			}
		case <-timeout:
			e.Fatalf("%s is not %s within %s; it was %q: %v", u.GetName(), until, settle, have, u.GetAnnotations())
		}
		break
	}
	if len(want) > 0 && !slices.Equal(have, want) {
		e.Errorf("%s was\n%s\nwant\n%s", u.GetName(), strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// looks is the state with the payload.
func (e *example) looks(u *unstructured.Unstructured) string {
	payloads := map[string]any{}
	if text := u.GetAnnotations()["dogear.dev/status"]; text != "" {
		if err := json.Unmarshal([]byte(text), &payloads); err != nil {
			e.Fatal(err)
		}
	}
	state := u.GetAnnotations()["dogear.dev/state"]
	if payload := payloads[e.set+"/"+e.handler]; payload != nil {
		text, _ := json.Marshal(payload)
		state += " " + string(text)
	}
	return state
}

// reason is that of the handler's last outcome.
func (e *example) reason(u *unstructured.Unstructured) string {
	var progress struct {
		Handlers map[string]struct{ Reason string }
	}
	_ = json.Unmarshal([]byte(u.GetAnnotations()["dogear.dev/progress"]), &progress)
	return progress.Handlers[e.set+"/"+e.handler].Reason
}

// caller calls the endpoint as Dogear does, or somebody who would like to be it.
type caller struct {
	*example
	key    string
	client *http.Client
}

const review = `{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview","request":{"uid":"call-%d","cause":"Create","attempt":1,` +
	`"idempotencyID":"change-1","object":{"metadata":{"uid":"u-1","name":"forged"},"spec":{"dnsNames":["a"]}}}}`

// refusals: who calls without a good signature gets no further, and bad input
// by Dogear itself is told from what to do.
func (c *caller) refusals() {
	first := fmt.Sprintf(review, 1)
	signed := func(body string) http.Header { return c.headers(c.key, body, time.Now()) }
	change := func(h http.Header, name, value string) http.Header {
		h.Set(name, value)
		return h
	}
	good, forged := signed(first), c.headers(newKey(c), first, time.Now())
	for _, test := range []struct {
		name, body string
		header     http.Header
		want       int
	}{
		{"a forged signature", first, forged, http.StatusUnauthorized},
		{"no signature", first, http.Header{}, http.StatusUnauthorized},
		{"an empty signature", first, change(signed(first), webhooks.HeaderWebhookSignature, ""), http.StatusUnauthorized},
		{"a signature of another version", first, change(signed(first), webhooks.HeaderWebhookSignature, "v2"+good.Get(webhooks.HeaderWebhookSignature)[2:]), http.StatusUnauthorized},
		{"a signature of another body", first + " ", signed(first), http.StatusUnauthorized},
		{"a signature of another id", first, change(signed(first), webhooks.HeaderWebhookID, "another"), http.StatusUnauthorized},
		{"no id", first, change(signed(first), webhooks.HeaderWebhookID, ""), http.StatusUnauthorized},
		{"an old signature", first, c.headers(c.key, first, time.Now().Add(-6*time.Minute)), http.StatusUnauthorized},
		{"a signature of the future", first, c.headers(c.key, first, time.Now().Add(6*time.Minute)), http.StatusUnauthorized},
		{"a time that is none", first, change(signed(first), webhooks.HeaderWebhookTimestamp, "1e9"), http.StatusUnauthorized},
		{"no JSON", "{", signed("{"), http.StatusBadRequest},
		{"no body", "", signed(""), http.StatusBadRequest},
		{"no object", "[]", signed("[]"), http.StatusBadRequest},
		{"no request", `{"kind":"HandlerReview"}`, signed(`{"kind":"HandlerReview"}`), http.StatusBadRequest},
		{"a signature within five minutes", first, c.headers(c.key, first, time.Now().Add(-4*time.Minute)), http.StatusOK},
		{"several signatures", first, change(signed(first), webhooks.HeaderWebhookSignature,
			forged.Get(webhooks.HeaderWebhookSignature)+" v1a,x "+good.Get(webhooks.HeaderWebhookSignature)), http.StatusOK},
	} {
		if status, body := c.post(test.header, test.body); status != test.want {
			c.Errorf("%s: got %d %s, want %d", test.name, status, body, test.want)
		}
	}
	c.repeats()
}

// bearsBadFiles: where the keys are missing or are none, nobody's signature is
// good, not even one by an empty key, and the fault is the endpoint's; a new
// certificate is taken without a restart.
func (c *caller) bearsBadFiles() {
	body := fmt.Sprintf(review, 1)
	for _, entries := range []map[string]string{{}, {"key": ""}, {"key": "whsec_" + strings.Repeat("\n", 40)}, {"key": c.key[:20]}} {
		c.mount("signing", entries)
		if status, text := c.post(c.headers("whsec_", body, time.Now()), body); status != http.StatusInternalServerError {
			c.Errorf("keys %q: got %d %s, want 500", entries, status, text)
		}
	}
	c.mount("signing", map[string]string{"key": c.key})
	c.client.CloseIdleConnections()
	c.client.Transport.(*http.Transport).TLSClientConfig = c.certify()
	if status, text := c.post(c.headers(c.key, body, time.Now()), body); status != http.StatusOK {
		c.Errorf("with a new certificate: %d %s", status, text)
	}
}

// repeats: a call that comes again is answered as it was, with its own uid.
func (c *caller) repeats() {
	for i := range 3 {
		body := fmt.Sprintf(review, i)
		_, text := c.post(c.headers(c.key, body, time.Now()), body)
		var answer struct {
			Response struct {
				UID, Outcome string
				Status       struct{ Phase string }
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			c.Errorf("%v: %s", err, text)
		}
		if r := answer.Response; r.UID != fmt.Sprintf("call-%d", i) || r.Outcome != "Succeeded" || r.Status.Phase != "Ready" {
			c.Errorf("call %d: %s", i, text)
		}
	}
}

func (c *caller) headers(key, body string, when time.Time) http.Header {
	c.Helper()
	w, err := webhooks.NewWebhook(key)
	if err != nil {
		c.Fatal(err)
	}
	signature, err := w.Sign("change-1", when, []byte(body))
	if err != nil {
		c.Fatal(err)
	}
	h := http.Header{}
	h.Set(webhooks.HeaderWebhookID, "change-1")
	h.Set(webhooks.HeaderWebhookTimestamp, strconv.FormatInt(when.Unix(), 10))
	h.Set(webhooks.HeaderWebhookSignature, signature)
	return h
}

func (c *caller) post(header http.Header, body string) (status int, text string) {
	c.Helper()
	url := "https://" + net.JoinHostPort(c.address, strconv.FormatInt(c.port, 10)) + "/certificates"
	request, err := http.NewRequestWithContext(c.Context(), http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		c.Fatal(err)
	}
	request.Header = header
	response, err := c.client.Do(request)
	if err != nil {
		c.Errorf("no answer: %v", err)
		return 0, ""
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		c.Error(err)
	}
	return response.StatusCode, string(answer)
}
