package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/dogear-dev/dogear/controller/handler"
)

// desk is a Receiver with what it has taken in.
type desk struct {
	Receiver
	router chi.Router
	taken  []Completion
	err    error
}

func newDesk() *desk {
	d := &desk{router: chi.NewRouter()}
	d.TokenKeys = fixed(tokenKeys)
	d.Complete = func(_ context.Context, c Completion) error {
		if d.err == nil {
			d.taken = append(d.taken, c)
		}
		return d.err
	}
	d.Mount(d.router)
	return d
}

// post sends a callback.
func (d *desk) post(token, body string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/callback/"+token, strings.NewReader(body))
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	d.router.ServeHTTP(w, r)
	return w
}

func callback(uid, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview","response":{"uid":%q,%s}}`, uid, rest)
}

// wantReply checks an answer to a callback.
func wantReply(t testing.TB, w *httptest.ResponseRecorder, code int, reason string) {
	t.Helper()
	var got Reply
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Errorf("body %q: %v", w.Body, err)
	}
	if w.Code != code || got.Code != code || got.Reason != reason || got.Message == "" {
		t.Errorf("got  %d %+v\nwant %d %s", w.Code, got, code, reason)
	}
}

func TestACallbackIsWhatAnAnswerWouldHaveBeen(t *testing.T) {
	t.Parallel()
	for rest, want := range map[string]handler.Outcome{
		`"outcome":"Succeeded","status":{"a":"b"}`:                                    handler.Classify(handler.Result{Status: map[string]any{"a": "b"}}, nil, 0),
		`"outcome":"Waiting"`:                                                         handler.Classify(handler.Wait(DefaultPoll), nil, 0),
		`"outcome":"Retrying","message":"m","after":"1m"`:                             handler.Classify(handler.Result{}, handler.Temporary("m", handler.After(time.Minute)), 0),
		`"outcome":"Failed","message":"m","reason":"R","status":{"a":"b"}`:            handler.Classify(handler.Result{}, handler.Permanent("m", handler.Reason("R"), handler.Status(map[string]any{"a": "b"})), 0),
		`"outcome":"Succeeded","status":"s","patch":{"fields":{"status":{"a":"b"}}}`:  handler.Classify(handler.Result{}, handler.Permanent("patch: status cannot be set: only labels, annotations and fields such as spec can", handler.Reason(handler.ReasonBadPatch), handler.Status("s")), 0),
		`"outcome":"Succeeded","patch":{"labels":{"a":"b"},"spec":{"a":{"b":["c"]}}}`: handler.Classify(handler.Result{}, nil, 0),
	} {
		d, tk := newDesk(), token(time.Now().Add(time.Hour))
		wantReply(t, d.post(mint(t, tokenKeys, tk), callback(tk.Nonce, rest), nil), 200, "Taken")
		if len(d.taken) != 1 || d.taken[0].Token != tk {
			t.Fatalf("%s: taken in: %+v", rest, d.taken)
		}
		got := handler.Classify(d.taken[0].Result, d.taken[0].Err, handler.RetryError)
		if diff := cmp.Diff(want, got, same); diff != "" {
			t.Errorf("%s: SDK (-), callback (+):\n%s", rest, diff)
		}
		if hasPatch := strings.Contains(rest, "labels"); d.taken[0].Patch.IsEmpty() == hasPatch {
			t.Errorf("%s: the patch is %+v", rest, d.taken[0].Patch)
		}
	}
}

func TestACallbackThatIsRefused(t *testing.T) {
	t.Parallel()
	now := time.Now()
	tk := token(now.Add(time.Hour))
	good, ok := mint(t, tokenKeys, tk), callback(tk.Nonce, `"outcome":"Succeeded"`)
	for name, test := range map[string]struct {
		token, body string
		header      http.Header
		err         error
		code        int
		reason      string
	}{
		"a forged token":      {"a.b", ok, nil, nil, 404, "UnknownToken"},
		"a huge token":        {strings.Repeat("a", 1<<16), ok, nil, nil, 404, "UnknownToken"},
		"an expired token":    {mint(t, tokenKeys, token(now.Add(-time.Hour))), ok, nil, nil, 410, "Expired"},
		"no body":             {good, "", nil, nil, 400, ReasonBadAnswer},
		"HTML":                {good, "<html>", nil, nil, 400, ReasonBadAnswer},
		"uid of another":      {good, callback("other", `"outcome":"Succeeded"`), nil, nil, 400, ReasonBadAnswer},
		"unknown outcome":     {good, callback(tk.Nonce, `"outcome":"Done"`), nil, nil, 400, ReasonBadAnswer},
		"unknown member":      {good, callback(tk.Nonce, `"outcome":"Failed","x":1`), nil, nil, 400, ReasonBadAnswer},
		"too long":            {good, ok + strings.Repeat(" ", MaxAnswer), nil, nil, 413, "TooLarge"},
		"a form":              {good, ok, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}, nil, 415, "UnsupportedMediaType"},
		"packed":              {good, ok, http.Header{"Content-Encoding": {"gzip"}}, nil, 415, "UnsupportedMediaType"},
		"no object any more":  {good, ok, nil, fmt.Errorf("find: %w", ErrUnknown), 404, "Unknown"},
		"used":                {good, ok, nil, fmt.Errorf("compare: %w", ErrUsed), 410, "Used"},
		"while it runs":       {good, ok, nil, ErrConflict, 409, "Conflict"},
		"not the leader":      {good, ok, nil, ErrNotLeader, 503, "NotLeader"},
		"an error of its own": {good, ok, nil, errors.New("hunter2"), 500, "Error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk()
			d.err = test.err
			w := d.post(test.token, test.body, test.header)
			wantReply(t, w, test.code, test.reason)
			if later := w.Header().Get("Retry-After") != ""; later != (test.code == 409 || test.code >= 500) {
				t.Errorf("Retry-After is %q", w.Header().Get("Retry-After"))
			}
			if len(d.taken) > 0 || strings.Contains(w.Body.String(), "hunter2") {
				t.Errorf("taken in: %v; body: %s", d.taken, w.Body)
			}
		})
	}
}

// TestACallbackWithABadTokenIsNotRead: who has no token costs no memory.
func TestACallbackWithABadTokenIsNotRead(t *testing.T) {
	t.Parallel()
	d := newDesk()
	r := httptest.NewRequest(http.MethodPost, "/callback/a.b", unread{t})
	w := httptest.NewRecorder()
	d.router.ServeHTTP(w, r)
	wantReply(t, w, 404, "UnknownToken")
}

type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

func TestACallbackOfAHandlerWithKeysIsSigned(t *testing.T) {
	t.Parallel()
	key, _ := ParseKey(secretKey("a"))
	other, _ := ParseKey(secretKey("b"))
	now := time.Now()
	tk := token(now.Add(time.Hour))
	good, body := mint(t, tokenKeys, tk), callback(tk.Nonce, `"outcome":"Succeeded"`)
	signed := func(key Key, at time.Time) http.Header {
		header := http.Header{}
		if err := sign(header, []Key{key}, "cb-1", at, []byte(body)); err != nil {
			t.Fatal(err)
		}
		return header
	}
	for name, test := range map[string]struct {
		header http.Header
		err    error
		code   int
		reason string
	}{
		"signed":              {signed(key, now), nil, 200, "Taken"},
		"not signed":          {nil, nil, 401, "NotSigned"},
		"by another key":      {signed(other, now), nil, 401, "NotSigned"},
		"an hour ago":         {signed(key, now.Add(-time.Hour)), nil, 401, "NotSigned"},
		"no handler any more": {signed(key, now), ErrUnknown, 404, "Unknown"},
		"keys cannot be read": {signed(key, now), errors.New("etcd"), 500, "Error"},
	} {
		d := newDesk()
		d.KeysOf = func(_ context.Context, got Token) ([]Key, error) {
			if got != tk {
				t.Errorf("%s: asked for the keys of %+v", name, got)
			}
			return []Key{key}, test.err
		}
		wantReply(t, d.post(good, body, test.header), test.code, test.reason)
	}
	d := newDesk()
	d.KeysOf = func(context.Context, Token) ([]Key, error) { return nil, nil }
	wantReply(t, d.post(good, body, nil), 200, "Taken")
}

func TestOtherMethodsAndPathsAreNoCallbacks(t *testing.T) {
	t.Parallel()
	d := newDesk()
	for path, code := range map[string]int{"/callback/a.b": 405, "/callback": 404, "/callback/a/b": 404} {
		w := httptest.NewRecorder()
		d.router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != code {
			t.Errorf("GET %s: got %d: want %d", path, w.Code, code)
		}
	}
}

// TestOnlyWhatWaitsCanBeCompleted: no other outcome has a word for it, nor has
// one that was offered no callback.
func TestOnlyWhatWaitsCanBeCompleted(t *testing.T) {
	t.Parallel()
	for _, outcome := range []string{"Succeeded", "Waiting", "Retrying", "Failed"} {
		for _, offered := range []bool{false, true} {
			e := to(serve(t, answering(`{"uid":"UID","outcome":"`+outcome+`"}`)))
			if offered {
				e.Callback = Callbacks{Base: "https://dogear.example.com", Keys: fixed(tokenKeys)}.Offer
			}
			got := run(t, handlerOf(t, e, loopback()))
			if has := got.Completion != ""; has != (offered && outcome == "Waiting") {
				t.Errorf("%s, offered %v: the word is %q", outcome, offered, got.Completion)
			}
		}
	}
}

// TestAnOutcomeThatComesLater goes the whole way: the endpoint answers 202, and
// sends the outcome to the address from its request.
func TestAnOutcomeThatComesLater(t *testing.T) {
	t.Parallel()
	d := newDesk()
	dogear := httptest.NewServer(d.router)
	t.Cleanup(dogear.Close)
	type offer struct{ url, uid string }
	offers := make(chan offer, 1)
	endpoint := serve(t, func(w http.ResponseWriter, r *http.Request) {
		review := reviewOf(r)
		offers <- offer{review.Callback.URL, review.UID}
		w.WriteHeader(http.StatusAccepted)
	})
	e := to(endpoint)
	e.Callback = Callbacks{Base: dogear.URL + "/", Keys: fixed(tokenKeys)}.Offer
	outcome := run(t, handlerOf(t, e, loopback()))
	want(t, outcome, handler.Waiting, "", "")

	o := <-offers
	if outcome.Completion != o.uid {
		t.Errorf("the word for the completion is %q: want the uid of the request", outcome.Completion)
	}
	if u, err := url.Parse(o.url); err != nil || !strings.HasPrefix(u.Path, "/callback/") {
		t.Fatalf("the address is %q", o.url)
	}
	answer, err := http.Post(o.url, "application/json", strings.NewReader(callback(o.uid, `"outcome":"Failed","message":"no quota"`)))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK || len(d.taken) != 1 {
		t.Fatalf("status %d, taken in: %v", answer.StatusCode, d.taken)
	}
	got := d.taken[0]
	if !handler.IsPermanent(got.Err) || got.Err.Error() != "no quota" || got.Token.Nonce != o.uid ||
		got.Token.Handler != "certificates/myapp" || got.Token.UID != "1b5a0b5e" || got.Token.Name != "web" || got.Token.GVK.Kind != "Certificate" {
		t.Errorf("taken in: %+v", got)
	}
	if left := time.Until(got.Token.Expires); left < 23*time.Hour || left > 24*time.Hour {
		t.Errorf("the token is good for %s: want a day", left)
	}
}
