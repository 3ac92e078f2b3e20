package remote

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller/handler"
)

// update writes the requests of docs/protocol.md anew.
var update = flag.Bool("update", false, "write the requests in docs/protocol.md")

const protocol = "../../docs/protocol.md"

// example is a worked request of the docs, and what its answer leads to.
type example struct {
	name    string
	uid     string
	request func(*handler.RawRequest)
	want    handler.Outcome
}

func (e example) raw() *handler.RawRequest {
	r := &handler.RawRequest{
		Object: parse(`{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":"web","namespace":"shop","uid":"0c3c5c1c-5d0e-4a6c-9d5f-7f0b8b1f2a3d",
			"resourceVersion":"4711","generation":1,"creationTimestamp":"2026-01-02T03:04:00Z"},
			"spec":{"secretName":"web-tls","dnsNames":["shop.example.com"],"issuerRef":{"name":"ca"}}}`),
		Info: handler.Info{
			HandlerID: "certificates/myapp", Cause: handler.Create, Attempt: 1, By: "alice", Fence: 3, Patch: &handler.Patch{},
			Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), IdempotencyID: "4zQmOb3RnPzQvJq0zXUuVw",
		},
	}
	if e.request != nil {
		e.request(r)
	}
	return r
}

func (e example) handler(t *testing.T) *Handler {
	endpoint := Endpoint{
		Set: "certificates", ID: "myapp", URL: "https://myapp.example.com/certificates",
		Resource: schema.GroupVersionResource{Group: "cert-manager.io", Version: "v1", Resource: "certificates"},
	}
	if e.name == "Waiting" {
		endpoint.Callback = Callbacks{Base: "https://dogear.example.com", Keys: fixed(tokenKeys), Clock: at(e.raw().Started)}.Offer
	}
	return handlerOf(t, endpoint, Shared{})
}

var examples = []example{
	{"Succeeded", "Yk2Zl0mWcEq3d7T8n5Xv1A", nil, handler.Classify(handler.Result{Status: ticket("url", "https://tickets.example.com/OPS-1234")}, nil, 0)},
	{"Waiting", "b0Wq9uH4RkS1oJm6yZcD2g", nil, func() handler.Outcome {
		result := handler.Wait(12 * time.Hour)
		result.Reason, result.Status = "InReview", ticket("phase", "InReview")
		return handler.Classify(result, nil, 0)
	}()},
	{"Retrying", "T3vLx8aPQ0yNf5Ks7ErB4w", func(r *handler.RawRequest) {
		r.Old = parse(`{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":"web","namespace":"shop","uid":"0c3c5c1c-5d0e-4a6c-9d5f-7f0b8b1f2a3d"},
			"spec":{"secretName":"web-tls","dnsNames":["shop.example.com"],"issuerRef":{"name":"ca"}}}`)
		r.Object.Object["spec"].(map[string]any)["dnsNames"] = []any{"shop.example.com", "www.example.com"}
		r.Object.SetGeneration(2)
		r.Changes = handler.Changes(r.Old.Object, map[string]any{
			"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": r.Old.Object["metadata"], "spec": r.Object.Object["spec"],
		})
		r.Cause, r.IdempotencyID = handler.Update, "kq7Wf1b9TtSg2Hc0ZrXy3A"
		r.Payloads = map[string]json.RawMessage{"certificates/myapp": json.RawMessage(`{"ticket":"OPS-1234","phase":"Approved"}`)}
	}, handler.Classify(handler.Result{}, handler.Temporary("the ticket system answers 503",
		handler.Reason("TicketSystemDown"), handler.After(90*time.Second), handler.Status(ticket("phase", "Stale"))), 0)},
	{"Failed", "m9GdU2cXSfW6hVb1pIoJ5Q", func(r *handler.RawRequest) {
		now := r.Started.Add(time.Hour)
		r.Object.Object["metadata"].(map[string]any)["deletionTimestamp"] = now.Format(time.RFC3339)
		r.Cause, r.Attempt, r.LastAttempt, r.Started, r.Deadline = handler.Delete, 5, true, now, now.Add(time.Hour)
		r.IdempotencyID = "Jd0s5nYp8QeLm4Vx6UaB1w"
		r.Payloads = map[string]json.RawMessage{"certificates/myapp": json.RawMessage(`{"ticket":"OPS-1234","phase":"Approved"}`)}
	}, handler.Classify(handler.Result{}, handler.Permanent("ticket OPS-1234 is locked by its owner",
		handler.Reason("TicketLocked"), handler.Status(ticket("phase", "Locked"))), 0)},
}

func ticket(key, value string) map[string]string {
	return map[string]string{"ticket": "OPS-1234", key: value}
}

// block is the fenced text behind a marker of the docs.
func block(t *testing.T, text, marker string) string {
	t.Helper()
	m := regexp.MustCompile("<!-- " + marker + " -->\n```json\n((?s:.*?))```").FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("docs/protocol.md has no %q", marker)
	}
	return m[1]
}

func readDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(protocol)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheRequestsOfTheDocsAreWhatIsSent(t *testing.T) {
	text := readDocs(t)
	for _, e := range examples {
		body, _, err := e.handler(t).review(t.Context(), e.raw(), e.uid)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Indent(&want, body, "", "  "); err != nil {
			t.Fatal(err)
		}
		want.WriteByte('\n')
		marker := "request " + e.name
		got := block(t, text, marker)
		if *update {
			text = strings.Replace(text, "<!-- "+marker+" -->\n```json\n"+got, "<!-- "+marker+" -->\n```json\n"+want.String(), 1)
			continue
		}
		if diff := cmp.Diff(want.String(), got); diff != "" {
			t.Errorf("%s: go test ./controller/remote -run Docs -update writes it anew:\n%s", e.name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(protocol, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheAnswersOfTheDocsLeadToWhatTheySay(t *testing.T) {
	t.Parallel()
	text := readDocs(t)
	for _, e := range examples {
		r := e.raw()
		end := e.handler(t).read(t.Context(), r, e.uid, &answer{status: http.StatusOK, body: []byte(block(t, text, "answer "+e.name))})
		got := handler.Classify(end.result, end.err, handler.RetryError)
		if diff := cmp.Diff(e.want, got, same); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", e.name, diff)
		}
		if r.Patch.IsEmpty() == (e.name == "Succeeded") {
			t.Errorf("%s: the patch is %+v", e.name, r.Patch)
		}
	}
}

func TestTheCallbackOfTheDocsIsTaken(t *testing.T) {
	t.Parallel()
	d, tk := newDesk(), token(time.Now().Add(time.Hour))
	tk.Nonce = examples[1].uid
	wantReply(t, d.post(mint(t, tokenKeys, tk), block(t, readDocs(t), "callback"), nil), http.StatusOK, "Taken")
}

func TestTheSignatureOfTheDocsIsRight(t *testing.T) {
	t.Parallel()
	const id, seconds, body = "4zQmOb3RnPzQvJq0zXUuVw", 1767323045, `{"hello":"world"}`
	text := readDocs(t)
	secret := regexp.MustCompile(`whsec_[A-Za-z0-9+/=]+`).FindString(text)
	webhook, err := webhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	want, err := webhook.Sign(id, time.Unix(seconds, 0), []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParseKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	if err := sign(header, []Key{key}, id, time.Unix(seconds, 0), []byte(body)); err != nil {
		t.Fatal(err)
	}
	if got := header.Get("webhook-signature"); got != want {
		t.Errorf("got %s: want %s", got, want)
	}
	input := fmt.Sprintf("'%s.%d.%s'", id, seconds, body)
	for _, part := range []string{input, "\n" + strings.TrimPrefix(want, "v1,") + "\n", strings.TrimPrefix(secret, keyPrefix) + " | base64 -d"} {
		if !strings.Contains(text, part) {
			t.Errorf("docs/protocol.md lacks %q", part)
		}
	}
}

// TestTheRepliesOfTheDocsAreAll: each reason that a callback may be answered
// with, and no other, with its status.
func TestTheRepliesOfTheDocsAreAll(t *testing.T) {
	t.Parallel()
	_, table, _ := strings.Cut(readDocs(t), "<!-- replies -->\n")
	table, _, _ = strings.Cut(table, "\n\n")
	got := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| ([0-9]+) \\| `([A-Za-z]+)` ").FindAllStringSubmatch(table, -1) {
		got[m[2]] = m[1]
	}
	if diff := cmp.Diff(allReplies, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	for _, err := range []error{nil, ErrTokenForged, ErrTokenExpired, ErrUnknown, ErrUsed, ErrConflict, ErrNotLeader, os.ErrClosed} {
		if r := replyOf(err); allReplies[r.Reason] != fmt.Sprint(r.Code) {
			t.Errorf("%v: %+v is not in the docs", err, r)
		}
	}
}

// allReplies are the reasons of replies and their statuses; what receive.go
// refuses is checked by TestACallbackThatIsRefused.
var allReplies = map[string]string{
	"Taken": "200", "BadAnswer": "400", "NotSigned": "401", "UnknownToken": "404", "Unknown": "404", "Conflict": "409", "Expired": "410", "Used": "410",
	"TooLarge": "413", "UnsupportedMediaType": "415", "Error": "500", "NotLeader": "503",
}
