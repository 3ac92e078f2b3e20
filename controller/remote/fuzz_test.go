package remote

import (
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
)

// FuzzAnswer: whatever an endpoint answers, there is an outcome, its delay is
// within bounds, and what cannot be read is no success.
func FuzzAnswer(f *testing.F) {
	for _, bad := range badAnswers {
		f.Add(200, bad.body, "1")
	}
	f.Add(503, reviewed(`{"uid":"UID","outcome":"Failed","status":{"a":1},"patch":{"labels":{"a":null},"spec":{"b":{}},"fields":{"data":[]}}}`), "Fri, 02 Jan 2026 03:05:05 GMT")
	f.Add(202, "", "99999999999999999999")
	f.Add(101, "", "-1")
	h := handlerOf(f, Endpoint{URL: "https://hooks.example.com/"}, Shared{})
	f.Fuzz(func(t *testing.T, status int, body, retryAfter string) {
		r := request()
		a := &answer{status: status, header: map[string][]string{"Retry-After": {retryAfter}}, body: []byte(strings.ReplaceAll(body, "UID", "uid-1"))}
		end := h.read(t.Context(), r, "uid-1", a)
		o := handler.Classify(end.result, end.err, handler.RetryError)
		if o.After != nil && (*o.After < 0 || *o.After > 24*time.Hour) {
			t.Errorf("after is %s", *o.After)
		}
		if len(o.Message) > 1024 {
			t.Errorf("the message has %d bytes", len(o.Message))
		}
		_, err := decode(a.body, "uid-1")
		if o.Kind == handler.Succeeded && len(a.body) > 0 && err != nil {
			t.Errorf("a success without a valid body: %q", body)
		}
	})
}
