package remote

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/handler"
)

// reviewed is an answer with that response.
func reviewed(response string) string {
	return `{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview","response":` + response + `}`
}

// badAnswers are bodies that are no HandlerReview, and what is said of them.
var badAnswers = map[string]struct{ body, text string }{
	"HTML":                  {"<!DOCTYPE html><h1>Login</h1>", "invalid character '<'"},
	"text":                  {"ok", "invalid character 'o'"},
	"half":                  {`{"apiVersion":"dogear.dev/v1alpha1",`, "unexpected end of JSON input"},
	"a list":                {"[]", "cannot unmarshal array"},
	"null":                  {"null", `apiVersion is "": want "dogear.dev/v1alpha1"`},
	"nothing of ours":       {"{}", `apiVersion is ""`},
	"wrong version":         {strings.Replace(reviewed(`{}`), "v1alpha1", "v2", 1), `apiVersion is "dogear.dev/v2"`},
	"wrong kind":            {strings.Replace(reviewed(`{}`), "HandlerReview", "AdmissionReview", 1), `kind is "AdmissionReview": want "HandlerReview"`},
	"no response":           {`{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview"}`, "no response"},
	"a response of null":    {reviewed("null"), "no response"},
	"two answers":           {reviewed(`{"uid":"UID","outcome":"Succeeded"}`) + reviewed(`{"uid":"UID","outcome":"Failed"}`), "after top-level value"},
	"no uid":                {reviewed(`{"outcome":"Succeeded"}`), `response.uid is "": want that of the request`},
	"wrong uid":             {reviewed(`{"uid":"1234","outcome":"Succeeded"}`), `response.uid is "1234"`},
	"no outcome":            {reviewed(`{"uid":"UID"}`), `response.outcome is "": want Succeeded, Waiting, Retrying or Failed`},
	"unknown outcome":       {reviewed(`{"uid":"UID","outcome":"Done"}`), `response.outcome is "Done"`},
	"an outcome in a case":  {reviewed(`{"uid":"UID","outcome":"succeeded"}`), `response.outcome is "succeeded"`},
	"an outcome of numbers": {reviewed(`{"uid":"UID","outcome":1}`), "cannot unmarshal number"},
	"unknown member":        {reviewed(`{"uid":"UID","outcome":"Waiting","delay":"5s"}`), `unknown field "response.delay"`},
	"unknown member above":  {`{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview","result":{}}`, `unknown field "result"`},
	"unknown in the patch":  {reviewed(`{"uid":"UID","outcome":"Succeeded","patch":{"metadata":{}}}`), `unknown field "response.patch.metadata"`},
	"wrong case":            {reviewed(`{"uid":"UID","Outcome":"Succeeded"}`), `unknown field "response.Outcome"`},
	"a member twice":        {reviewed(`{"uid":"UID","outcome":"Succeeded","outcome":"Failed"}`), `duplicate field "response.outcome"`},
	"twice in the payload":  {reviewed(`{"uid":"UID","outcome":"Succeeded","status":{"a":1,"a":2}}`), `response.status: duplicate field "a"`},
	"twice in the patch":    {reviewed(`{"uid":"UID","outcome":"Succeeded","patch":{"spec":{"a":{"b":1,"b":2}}}}`), `field "a": duplicate field "b"`},
	"NaN":                   {reviewed(`{"uid":"UID","outcome":"Succeeded","status":{"a":NaN}}`), "invalid character 'N'"},
	"Infinity":              {reviewed(`{"uid":"UID","outcome":"Succeeded","status":{"a":-Infinity}}`), "invalid character 'I'"},
	"a number too great":    {reviewed(`{"uid":"UID","outcome":"Succeeded","status":{"a":1e999}}`), "cannot unmarshal number 1e999"},
	"negative delay":        {reviewed(`{"uid":"UID","outcome":"Waiting","after":"-1s"}`), "-1s"},
	"a delay in a number":   {reviewed(`{"uid":"UID","outcome":"Waiting","after":30}`), `want text such as "10s"`},
	"a delay without unit":  {reviewed(`{"uid":"UID","outcome":"Waiting","after":"30"}`), `duration "30"`},
	"a delay of centuries":  {reviewed(`{"uid":"UID","outcome":"Waiting","after":"9999999999h"}`), `duration "9999999999h"`},
	"a reason of words":     {reviewed(`{"uid":"UID","outcome":"Failed","reason":"no quota"}`), `response.reason is "no quota"`},
	"a label of numbers":    {reviewed(`{"uid":"UID","outcome":"Succeeded","patch":{"labels":{"a":1}}}`), "cannot unmarshal number"},
	"deeply nested":         {reviewed(`{"uid":"UID","outcome":"Succeeded","status":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`), "exceeded max depth"},
}

// TestABadAnswerIsNoSuccess: whatever a success has as its body, if it is no
// HandlerReview, the attempt is repeated, and the message says what is wrong.
func TestABadAnswerIsNoSuccess(t *testing.T) {
	t.Parallel()
	for name, test := range badAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, strings.ReplaceAll(test.body, "UID", reviewOf(r).UID))
			})
			got, patch := runWith(t, handlerOf(t, to(server), loopback()), request())
			want(t, got, handler.Retrying, ReasonBadAnswer, "the answer (200 OK) is not a HandlerReview: ")
			want(t, got, handler.Retrying, ReasonBadAnswer, test.text)
			if !patch.IsEmpty() || got.Payload != nil || got.After != nil {
				t.Errorf("something of a bad answer counts: %+v, %v", got, patch)
			}
		})
	}
}

func TestARequestThatComesBackWithTheAnswerIsNotLookedAt(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview","request":{"what":"ever"},"response":{"uid":%q,"outcome":"Succeeded"}}`, reviewOf(r).UID)
	})
	want(t, run(t, handlerOf(t, to(server), loopback())), handler.Succeeded, "", "")
}

func TestSpaceIsNoBody(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\r\n \n") })
	want(t, run(t, handlerOf(t, to(server), loopback())), handler.Succeeded, "", "")
}

func TestAnErrorPageLeavesTheDecisionToTheStatus(t *testing.T) {
	t.Parallel()
	for status, test := range map[int]struct {
		kind   handler.OutcomeKind
		reason string
	}{404: {handler.Failed, "HTTP404"}, 502: {handler.Retrying, "HTTP502"}} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>nginx</html>")
		})
		got := run(t, handlerOf(t, to(server), loopback()))
		want(t, got, test.kind, test.reason, "the endpoint answered "+statusText(status))
		if strings.Contains(got.Message, "nginx") {
			t.Errorf("the page is quoted: %s", got.Message)
		}
	}
}

// TestAnAnswerIsReadToABound: what is written beyond it is never taken, so a
// gigabyte that is announced or drips in costs no more than a megabyte.
func TestAnAnswerIsReadToABound(t *testing.T) {
	t.Parallel()
	const gigabyte = 1 << 30
	chunk := bytes.Repeat([]byte("a"), 1<<16)
	for name, announce := range map[string]bool{"announced": true, "in chunks": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			written := make(chan int, 1)
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if announce {
					w.Header().Set("Content-Length", fmt.Sprint(gigabyte))
				}
				n := 0
				for n < gigabyte {
					m, err := w.Write(chunk)
					if n += m; err != nil {
						break
					}
				}
				written <- n
			})
			got := run(t, handlerOf(t, to(server), loopback()))
			want(t, got, handler.Retrying, ReasonBadAnswer, "it is longer than 1 MiB")
			if n := <-written; n > 64<<20 { // buffers of the kernel hold some
				t.Errorf("%d bytes were taken", n)
			}
		})
	}
}

func TestAnAnswerOfJustTheBoundIsRead(t *testing.T) {
	t.Parallel()
	for _, extra := range []int{0, 1} {
		server := serve(t, func(w http.ResponseWriter, r *http.Request) {
			body := fmt.Sprintf(`{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview","response":{"uid":%q,"outcome":"Succeeded"}}`, reviewOf(r).UID)
			_, _ = io.WriteString(w, body+strings.Repeat(" ", MaxAnswer+extra-len(body)))
		})
		kind := handler.Succeeded
		if extra > 0 {
			kind = handler.Retrying
		}
		if got := run(t, handlerOf(t, to(server), loopback())); got.Kind != kind {
			t.Errorf("1 MiB and %d: got %s %s: want %s", extra, got.Kind, got.Message, kind)
		}
	}
}

func TestAGzipBombIsNotUnpacked(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	packer := gzip.NewWriter(&bomb)
	for range 64 {
		_, _ = packer.Write(make([]byte, 1<<20))
	}
	_ = packer.Close()
	accepted := make(chan string, 1)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		accepted <- r.Header.Get("Accept-Encoding")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb.Bytes())
	})
	got := run(t, handlerOf(t, to(server), loopback()))
	want(t, got, handler.Retrying, ReasonBadAnswer, `Content-Encoding is "gzip": want none`)
	if encoding := <-accepted; encoding != "identity" {
		t.Errorf("Accept-Encoding is %q", encoding)
	}
}

func TestASlowDripEndsWithTheTimeout(t *testing.T) {
	t.Parallel()
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for w.Header().Set("X", "x"); r.Context().Err() == nil; {
			_, _ = io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond) // it is the drip
		}
	})
	e := to(server)
	e.Timeout = 200 * time.Millisecond
	h := handlerOf(t, e, loopback())
	want(t, run(t, h), handler.Retrying, ReasonTimedOut, "no whole answer within 200ms")
	if n := h.Gate().Health().Failures; n != 1 {
		t.Errorf("the gate counts %d failures: want 1", n)
	}
}

func TestTextOfAnEndpointIsCutAndCleaned(t *testing.T) {
	t.Parallel()
	got := run(t, handlerOf(t, to(serve(t, answering(
		`{"uid":"UID","outcome":"Failed","message":"a\u001b[31mred\u0000\u202e\u2028`+strings.Repeat("x", 5000)+`"}`))), loopback()))
	if !strings.HasPrefix(got.Message, "a [31mred   xxx") || len(got.Message) > 1024 {
		t.Errorf("got %d bytes: %.40q", len(got.Message), got.Message)
	}
}
