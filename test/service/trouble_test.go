package service

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/storage"
)

// TestEndpointsInTrouble: what docs/protocol.md says, through the whole service.
func TestEndpointsInTrouble(t *testing.T) {
	b := newBench(t)
	b.start()
	body := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}
	review := func(uid, rest string) string {
		return `{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview","response":{"uid":"` + uid + `",` + rest + `}}`
	}
	cases := map[string]struct {
		raw                    http.HandlerFunc // nil: nobody listens
		state, reason, message string
	}{
		"down":      {nil, "Waiting", "EndpointUnreachable", "connection refused"},
		"slow":      {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "Retrying", "EndpointTimedOut", ""},
		"resetting": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "Retrying", "EndpointUnreachable", ""},
		"html":      {body(200, "text/html", "<html>secret page</html>"), "Retrying", "BadAnswer", ""},
		"invalid":   {body(200, "application/json", `{"kind":`), "Retrying", "BadAnswer", ""},
		"nan":       {body(200, "application/json", review("x", `"outcome":"Succeeded","status":{"n":NaN}`)), "Retrying", "BadAnswer", ""},
		"wronguid":  {body(200, "application/json", review("wrong", `"outcome":"Succeeded"`)), "Retrying", "BadAnswer", "uid"},
		"outcome": {func(w http.ResponseWriter, r *http.Request) {
			body(200, "application/json", review("x", `"outcome":"Perhaps"`))(w, r)
		}, "Retrying", "BadAnswer", "outcome"},
		"nocontent": {body(204, "", ""), "Succeeded", "", ""},
		"notfound":  {body(404, "text/plain", "no such page"), "Failed", "HTTP404", ""},
		"later": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "99999999999")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, "Retrying", "HTTP503", ""},
	}
	var sets []*v1alpha1.ClusterHandlerSet
	for name, c := range cases {
		e := b.endpoint(name, nil)
		if e.set(c.raw); c.raw == nil {
			e.server.Close()
		}
		sets = append(sets, b.set(name, "configmaps", "match: {labelSelector: {matchLabels: {case: "+name+"}}}\nhandlers:\n- {id: h, causes: [Create], status: {path: "+name+
			"}, http: "+strings.TrimSuffix(e.http(), "}")+", timeout: 500ms}, retry: {initial: 50ms, max: 50ms}}\n"))
	}
	for _, s := range sets {
		b.awaitReady(s)
	}
	for name, c := range cases {
		o := b.configMap("object-"+name, map[string]string{"case": name})
		if c.state == "Succeeded" {
			b.await(o, c.state)
			continue
		}
		r := b.awaitRecord(o, name+"/h", func(r storage.Record) bool { return string(r.State) == c.state })
		if r.Reason != c.reason || !strings.Contains(r.Message, c.message) || strings.Contains(r.Message, "secret") {
			t.Errorf("%s: reason %q, message %q", name, r.Reason, r.Message)
		}
		if name == "later" && (time.Until(r.Next) > 24*time.Hour || time.Until(r.Next) < 23*time.Hour) {
			t.Errorf("%s: next %s", name, r.Next)
		}
	}
	for _, s := range sets {
		switch s.Name {
		case "down", "slow", "resetting":
			c := b.awaitCondition(s, v1alpha1.ConditionEndpointsHealthy, metav1.ConditionFalse, "EndpointDown")
			wantText(t, c.Message, `handler "h": down since`)
			if h := s.Status.Handlers[0]; h.LastError == "" || h.LastErrorTime == nil {
				t.Errorf("%s: %+v", s.Name, h)
			}
		default:
			b.awaitCondition(s, v1alpha1.ConditionEndpointsHealthy, metav1.ConditionTrue, "")
		}
		b.awaitReady(s) // an endpoint in trouble is none of the set
	}
	b.awaitCounts(find(sets, "notfound"), func(c v1alpha1.Counts) bool { return c.Failed == 1 && c.Failing == 1 && c.Objects == 1 })
}

func find(sets []*v1alpha1.ClusterHandlerSet, name string) *v1alpha1.ClusterHandlerSet {
	for _, s := range sets {
		if s.Name == name {
			return s
		}
	}
	panic(fmt.Sprintf("no set %s", name))
}
