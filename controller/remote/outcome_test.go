package remote

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/dogear-dev/dogear/controller/handler"
)

// same compares outcomes but for the error itself.
var same = cmp.Options{cmpopts.IgnoreUnexported(handler.Outcome{}), cmpopts.IgnoreFields(handler.Outcome{}, "Err")}

func TestEveryOutcomeEqualsThatOfTheSDK(t *testing.T) {
	t.Parallel()
	payload := json.RawMessage(`{"phase":"P","count":3,"ratio":0.5,"big":9007199254740993}`)
	for name, test := range map[string]struct {
		response string
		result   handler.Result
		err      error
	}{
		"success":            {`{"uid":"UID","outcome":"Succeeded"}`, handler.Result{}, nil},
		"success, payload":   {`{"uid":"UID","outcome":"Succeeded","status":` + string(payload) + `}`, handler.Result{Status: payload}, nil},
		"success, no change": {`{"uid":"UID","outcome":"Succeeded","status":null}`, handler.Result{}, nil},
		"success, cleared":   {`{"uid":"UID","outcome":"Succeeded","status":{}}`, handler.Result{Status: struct{}{}}, nil},
		"success, a word":    {`{"uid":"UID","outcome":"Succeeded","status":"done","after":"5s"}`, handler.Result{Status: "done"}, nil},
		"waiting": {
			`{"uid":"UID","outcome":"Waiting","after":"90s","reason":"Polling","status":` + string(payload) + `}`,
			func() handler.Result {
				r := handler.Wait(90 * time.Second)
				r.Reason, r.Status = "Polling", payload
				return r
			}(), nil,
		},
		"waiting, no time":      {`{"uid":"UID","outcome":"Waiting","after":"0s"}`, handler.Wait(DefaultPoll), nil},
		"waiting, hardly":       {`{"uid":"UID","outcome":"Waiting","after":"1ms"}`, handler.Wait(100 * time.Millisecond), nil},
		"waiting, no delay":     {`{"uid":"UID","outcome":"Waiting"}`, handler.Wait(DefaultPoll), nil},
		"waiting, a long delay": {`{"uid":"UID","outcome":"Waiting","after":"1000h"}`, handler.Wait(24 * time.Hour), nil},
		"retrying": {
			`{"uid":"UID","outcome":"Retrying","message":"not ready","after":"1500ms","reason":"Busy","status":` + string(payload) + `}`,
			handler.Result{}, handler.Temporary("not ready", handler.After(1500*time.Millisecond), handler.Reason("Busy"), handler.Status(payload)),
		},
		"retrying, bare": {`{"uid":"UID","outcome":"Retrying"}`, handler.Result{}, handler.Temporary(noRetryMessage)},
		"failed": {
			`{"uid":"UID","outcome":"Failed","message":"no quota","reason":"QuotaExceeded","after":"1s","status":` + string(payload) + `}`,
			handler.Result{}, handler.Permanent("no quota", handler.Reason("QuotaExceeded"), handler.Status(payload)),
		},
		"failed, bare": {`{"uid":"UID","outcome":"Failed"}`, handler.Result{}, handler.Permanent(noFailMessage)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, handlerOf(t, to(serve(t, answering(test.response))), loopback()))
			want := handler.Classify(test.result, test.err, handler.RetryError)
			if diff := cmp.Diff(want, got, same); diff != "" {
				t.Errorf("SDK (-), HTTP (+):\n%s", diff)
			}
		})
	}
}

func TestWithoutABodyTheStatusDecides(t *testing.T) {
	t.Parallel()
	date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		status     int
		retryAfter string
		kind       handler.OutcomeKind
		reason     string
		after      time.Duration // -1: none
	}{
		"200":                        {200, "", handler.Succeeded, "", -1},
		"201":                        {201, "", handler.Succeeded, "", -1},
		"204":                        {204, "", handler.Succeeded, "", -1},
		"202":                        {202, "", handler.Waiting, "", DefaultPoll},
		"202, in a while":            {202, "120", handler.Waiting, "", 2 * time.Minute},
		"202, at once":               {202, "0", handler.Waiting, "", DefaultPoll},
		"301":                        {301, "", handler.Failed, ReasonRedirected, -1},
		"304":                        {304, "", handler.Failed, ReasonRedirected, -1},
		"400":                        {400, "", handler.Failed, "HTTP400", -1},
		"404, whatever Retry-After":  {404, "5", handler.Failed, "HTTP404", -1},
		"408":                        {408, "", handler.Retrying, "HTTP408", -1},
		"425":                        {425, "1", handler.Retrying, "HTTP425", time.Second},
		"429":                        {429, "17", handler.Retrying, "HTTP429", 17 * time.Second},
		"500":                        {500, "", handler.Retrying, "HTTP500", -1},
		"503, huge":                  {503, "99999999999999999999999", handler.Retrying, "HTTP503", day},
		"503, three years":           {503, "94608000", handler.Retrying, "HTTP503", day},
		"503, a date far off":        {503, date(1000 * day), handler.Retrying, "HTTP503", day},
		"503, a date gone by":        {503, date(-time.Hour), handler.Retrying, "HTTP503", -1},
		"503, nonsense":              {503, "soon", handler.Retrying, "HTTP503", -1},
		"503, negative":              {503, "-5", handler.Retrying, "HTTP503", -1},
		"599, which nobody has used": {599, "", handler.Retrying, "HTTP599", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", test.retryAfter)
				w.Header().Set("Location", "https://example.com/")
				w.WriteHeader(test.status)
			})
			got := run(t, handlerOf(t, to(server), loopback()))
			want(t, got, test.kind, test.reason, "")
			after := time.Duration(-1)
			if got.After != nil {
				after = *got.After
			}
			if after != test.after {
				t.Errorf("after is %s: want %s", after, test.after)
			}
		})
	}
}

func TestADateInRetryAfterIsADelay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	header := http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:05:05 GMT"}}
	if got, ok := retryAfter(header, now); !ok || got != time.Minute {
		t.Errorf("got %s, %v: want 1m", got, ok)
	}
}

func TestABodyGoesBeforeTheStatus(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "9")
		w.WriteHeader(http.StatusServiceUnavailable)
		respond(w, r, `{"uid":"UID","outcome":"Retrying","message":"busy"}`)
	})
	got := run(t, handlerOf(t, to(server), loopback()))
	want(t, got, handler.Retrying, handler.ReasonError, "busy")
	if got.After == nil || *got.After != 9*time.Second {
		t.Errorf("after is %v: want the 9s of Retry-After, as the body names none", got.After)
	}
}

func TestOnErrorCountsWhereTheEndpointGaveNoOutcome(t *testing.T) {
	t.Parallel()
	html := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello</html>") })
	busy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	classified := serve(t, answering(`{"uid":"UID","outcome":"Retrying"}`))
	for _, test := range []struct {
		policy handler.ErrorPolicy
		to     Endpoint
		want   handler.OutcomeKind
	}{
		{handler.RetryError, to(html), handler.Retrying},
		{handler.FailError, to(html), handler.Failed},
		{handler.IgnoreError, to(html), handler.Succeeded},
		{handler.FailError, to(busy), handler.Failed},
		{handler.IgnoreError, to(busy), handler.Succeeded},
		{handler.FailError, to(classified), handler.Retrying},
		{handler.IgnoreError, to(classified), handler.Retrying},
		{handler.FailError, Endpoint{Service: &Service{Namespace: "a", Name: "b"}}, handler.Waiting},
		{handler.IgnoreError, Endpoint{Service: &Service{Namespace: "a", Name: "b"}}, handler.Waiting},
	} {
		test.to.OnError = test.policy
		if got := run(t, handlerOf(t, test.to, loopback())); got.Kind != test.want {
			t.Errorf("policy %d, %s: got %s: want %s", test.policy, test.to.URL, got.Kind, test.want)
		}
	}
}
