package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
)

const head = `"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"`

func TestAdmitAnswersWithTheUID(t *testing.T) {
	t.Parallel()
	shared := &admissionv1.AdmissionResponse{Allowed: true, UID: "of another", Patch: []byte(`[]`)}
	h := newServer(t, ServerOptions{Admitter: AdmitterFunc(
		func(_ context.Context, r *admissionv1.AdmissionRequest) Answer {
			if !bytes.HasPrefix(r.Object.Raw, []byte(`{"metadata"`)) {
				t.Errorf("object %q is not raw", r.Object.Raw)
			}
			return Answer{Response: shared, Decision: "shared"}
		})}).Handler()
	for _, path := range []string{"/admit", "/admit/v1/services"} {
		for operation, patched := range map[admissionv1.Operation]bool{
			admissionv1.Create: true, admissionv1.Update: true, admissionv1.Delete: false, admissionv1.Connect: false,
		} {
			w := post(h, path, strings.NewReader(reviewOf(t, operation, 10)))
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %d %s", operation, w.Code, w.Body)
			}
			response := responseOf(t, w.Body.Bytes())
			if response.UID != "u-1" || !response.Allowed {
				t.Errorf("%s: response %+v", operation, response)
			}
			if got := len(response.Patch) > 0 && *response.PatchType == admissionv1.PatchTypeJSONPatch; got != patched {
				t.Errorf("%s: has a patch: %t, want %t", operation, got, patched)
			}
		}
	}
	if shared.UID != "of another" || shared.PatchType != nil {
		t.Error("the admitter's response was changed")
	}
}

func TestAdmitRefusesWhatIsNoReview(t *testing.T) {
	t.Parallel()
	const marker = "canary"
	deep := strings.Repeat("[", 1<<20)
	tests := map[string]struct {
		body string
		want int
	}{
		"nothing":             {"", http.StatusBadRequest},
		"garbage":             {marker, http.StatusBadRequest},
		"null":                {"null", http.StatusBadRequest},
		"a list":              {`["` + marker + `"]`, http.StatusBadRequest},
		"cut off":             {reviewOf(t, admissionv1.Create, 100)[:150], http.StatusBadRequest},
		"two documents":       {reviewOf(t, admissionv1.Create, 1) + `{"` + marker + `":1}`, http.StatusBadRequest},
		"deeply nested":       {deep, http.StatusBadRequest},
		"a nested object":     {`{` + head + `,"request":{"uid":"u","operation":"CREATE","object":` + deep + `}}`, http.StatusBadRequest},
		"another kind":        {`{"kind":"` + marker + `","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE"}}`, http.StatusBadRequest},
		"another version":     {`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","request":{"uid":"u","operation":"CREATE"}}`, http.StatusBadRequest},
		"keys in other case":  {`{"Kind":"AdmissionReview","ApiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE"}}`, http.StatusBadRequest},
		"no request":          {`{` + head + `}`, http.StatusBadRequest},
		"no uid":              {`{` + head + `,"request":{"operation":"CREATE"}}`, http.StatusBadRequest},
		"a huge uid":          {`{` + head + `,"request":{"operation":"CREATE","uid":"` + strings.Repeat(marker, 100) + `"}}`, http.StatusBadRequest},
		"no operation":        {`{` + head + `,"request":{"uid":"u"}}`, http.StatusBadRequest},
		"another operation":   {`{` + head + `,"request":{"uid":"u","operation":"` + marker + `"}}`, http.StatusBadRequest},
		"a number for a text": {`{` + head + `,"request":{"uid":123456789,"operation":"CREATE"}}`, http.StatusBadRequest},
		"too large":           {strings.Repeat(marker, 1<<20), http.StatusRequestEntityTooLarge},
	}
	h := newServer(t, ServerOptions{MaxBody: 2 << 20, Admitter: AdmitterFunc(
		func(context.Context, *admissionv1.AdmissionRequest) Answer {
			t.Error("the admitter was asked")
			return Answer{}
		})}).Handler()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for length, body := range map[string]io.Reader{
				"known": strings.NewReader(test.body), "unknown": io.MultiReader(strings.NewReader(test.body)),
			} {
				w := post(h, "/admit", body)
				if w.Code != test.want {
					t.Errorf("length %s: status %d, want %d", length, w.Code, test.want)
				}
				if text := w.Body.String(); strings.Contains(text, marker) || strings.Contains(text, "123456789") || len(text) < 10 {
					t.Errorf("length %s: text %q", length, text)
				}
			}
		})
	}
}

func TestAdmitRefusesOtherRequests(t *testing.T) {
	t.Parallel()
	h := newServer(t, ServerOptions{}).Handler()
	tests := map[string]struct {
		method, path, contentType string
		want                      int
	}{
		"another method":        {http.MethodGet, "/admit", "application/json", http.StatusMethodNotAllowed},
		"another path":          {http.MethodPost, "/admits", "application/json", http.StatusNotFound},
		"another type":          {http.MethodPost, "/admit", "application/yaml", http.StatusUnsupportedMediaType},
		"no type":               {http.MethodPost, "/admit", "", http.StatusUnsupportedMediaType},
		"a type with a charset": {http.MethodPost, "/admit", "application/json; charset=utf-8", http.StatusOK},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(test.method, test.path, strings.NewReader(reviewOf(t, admissionv1.Create, 1)))
			r.Header.Set("Content-Type", test.contentType)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != test.want {
				t.Errorf("status %d, want %d", w.Code, test.want)
			}
		})
	}
}

func TestAdmitTakesABodyUpToTheLimit(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, firstRead - 200, firstRead, 5 * firstRead, 1 << 20} {
		body := reviewOf(t, admissionv1.Update, size)
		s := newServer(t, ServerOptions{MaxBody: int64(len(body))})
		for _, reader := range []io.Reader{strings.NewReader(body), iotest.HalfReader(strings.NewReader(body)), iotest.DataErrReader(strings.NewReader(body))} {
			if w := post(s.Handler(), "/admit", reader); w.Code != http.StatusOK {
				t.Errorf("%d bytes: %d %s", len(body), w.Code, w.Body)
			}
		}
		if w := post(s.Handler(), "/admit", strings.NewReader(body+" ")); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%d bytes: %d", len(body)+1, w.Code)
		}
		if !s.bytes.TryAcquire(s.options.MaxInFlight) {
			t.Errorf("%d bytes: memory stays reserved", len(body))
		}
	}
}

func TestAdmitAnswersABrokenBody(t *testing.T) {
	t.Parallel()
	w := post(newServer(t, ServerOptions{}).Handler(), "/admit", iotest.ErrReader(errors.New("reset")))
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d", w.Code)
	}
}

// A client that promises a large body, or sends it slowly, holds no turn and
// hardly any memory; what all have sent is bounded.
func TestAdmitBoundsTheMemoryOfAllBodies(t *testing.T) {
	t.Parallel()
	s := newServer(t, ServerOptions{MaxBody: 1 << 20, MaxInFlight: 2*(1<<20+1) + 1000, MaxConcurrent: 1, MaxWait: time.Minute})
	h := s.Handler()
	body := reviewOf(t, admissionv1.Create, 600<<10)
	release := make(chan struct{})
	codes := make(chan int, 2)
	for range cap(codes) {
		reader := &stalled{Reader: strings.NewReader(body), at: 520 << 10, reached: make(chan struct{}), release: release}
		go func() { codes <- post(h, "/admit", reader).Code }()
		<-reader.reached
	}
	if w := post(h, "/admit", strings.NewReader(body)); w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
		t.Errorf("a third large body got %d, retry after %q", w.Code, w.Header().Get("Retry-After"))
	}
	close(release)
	for range cap(codes) {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a slow body got %d", code)
		}
	}
	if w := post(h, "/admit", strings.NewReader(body)); w.Code != http.StatusOK {
		t.Errorf("a large body got %d when the memory was free again", w.Code)
	}
}

// stalled is a body that stops in the middle.
type stalled struct {
	io.Reader
	at, read         int
	once             sync.Once
	reached, release chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	if s.read < s.at {
		n, err := s.Reader.Read(p[:min(len(p), s.at-s.read)])
		s.read += n
		return n, err
	}
	s.once.Do(func() {
		close(s.reached)
		<-s.release
	})
	return s.Reader.Read(p)
}

func TestAdmitBoundsHowManyAreDecided(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		wait time.Duration
		free bool // is the turn given back
		want int
	}{
		"no waiting":             {-1, false, http.StatusTooManyRequests},
		"waiting in vain":        {time.Millisecond, false, http.StatusTooManyRequests},
		"waiting with a success": {time.Minute, true, http.StatusOK},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, ServerOptions{MaxConcurrent: 1, MaxWait: test.wait})
			s.turns <- struct{}{}
			if test.free {
				time.AfterFunc(time.Millisecond, func() { <-s.turns })
			}
			w := post(s.Handler(), "/admit", strings.NewReader(reviewOf(t, admissionv1.Create, 1)))
			if w.Code != test.want {
				t.Errorf("status %d, want %d", w.Code, test.want)
			}
			if got := w.Header().Get("Retry-After"); (got == "1") != (test.want != http.StatusOK) {
				t.Errorf("retry after %q", got)
			}
		})
	}
}

func TestAdmitGivesUpWithTheClient(t *testing.T) {
	t.Parallel()
	s := newServer(t, ServerOptions{MaxConcurrent: 1, MaxWait: time.Hour})
	s.turns <- struct{}{}
	if w := post(s.Handler(), "/admit?timeout=1ms", strings.NewReader(reviewOf(t, admissionv1.Create, 1))); w.Code != http.StatusTooManyRequests {
		t.Errorf("status %d", w.Code)
	}
	for query, want := range map[string]time.Duration{
		"": maxPatience, "?timeout=2s": 2 * time.Second, "?timeout=-1s": maxPatience, "?timeout=1h": maxPatience, "?timeout=x": maxPatience,
	} {
		if got := patience(httptest.NewRequest(http.MethodPost, "/admit"+query, nil)); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
}

func TestAdmitSurvivesItsAdmitter(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		admit AdmitterFunc
		log   string
	}{
		"no response": {func(context.Context, *admissionv1.AdmissionRequest) Answer { return Answer{} }, ""},
		"a panic of the runtime": {func(_ context.Context, r *admissionv1.AdmissionRequest) Answer {
			return Answer{Decision: string(r.Object.Raw[1<<20])}
		}, "index out of range"},
		"a panic with a piece of the object": {func(_ context.Context, r *admissionv1.AdmissionRequest) Answer {
			panic(fmt.Errorf("can't handle %s", r.Object.Raw))
		}, `"type"=`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			s := newServer(t, ServerOptions{Admitter: test.admit, MaxConcurrent: 1, MaxWait: -1, Log: funcr.New(
				func(_, args string) { log.WriteString(args) }, funcr.Options{})})
			for range 3 { // a turn that is not given back would show
				if w := post(s.Handler(), "/admit", strings.NewReader(reviewOf(t, admissionv1.Create, 1))); w.Code != http.StatusInternalServerError {
					t.Errorf("status %d", w.Code)
				}
			}
			text := log.String()
			if test.log == "" {
				if text != "" {
					t.Errorf("log %q", text)
				}
				return
			}
			if !strings.Contains(text, test.log) || !strings.Contains(text, "process_test.go") {
				t.Errorf("log %.500q has no cause or no stack", text)
			}
			if strings.Contains(text, "metadata") {
				t.Errorf("log %.500q has a piece of the object", text)
			}
		})
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	expiry := time.Time{}
	metrics, err := NewMetrics(registry, func() time.Time { return expiry })
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, ServerOptions{Metrics: metrics, MaxBody: 1000, MaxConcurrent: 1, MaxWait: -1, Admitter: AdmitterFunc(
		func(ctx context.Context, r *admissionv1.AdmissionRequest) Answer {
			switch r.Operation {
			case admissionv1.Delete:
				panic("fault")
			case admissionv1.Connect:
				return Answer{}
			}
			return allowAll(ctx, r)
		})})
	h := s.Handler()
	for _, operation := range []admissionv1.Operation{admissionv1.Create, admissionv1.Update, admissionv1.Delete, admissionv1.Connect, "OTHER"} {
		post(h, "/admit", strings.NewReader(reviewOf(t, operation, 1)))
	}
	post(h, "/admit", strings.NewReader(reviewOf(t, admissionv1.Create, 1000)))
	s.turns <- struct{}{}
	post(h, "/admit", strings.NewReader(reviewOf(t, admissionv1.Create, 1)))
	<-s.turns
	s.refusing.Store(true)
	post(h, "/admit", strings.NewReader(reviewOf(t, admissionv1.Create, 1)))

	expiry = time.Unix(1800000000, 0)
	want := `
# HELP dogear_admission_requests_total Admission requests by operation and by what was decided.
# TYPE dogear_admission_requests_total counter
dogear_admission_requests_total{decision="allowed",operation="CREATE"} 1
dogear_admission_requests_total{decision="allowed",operation="UPDATE"} 1
dogear_admission_requests_total{decision="busy",operation="unknown"} 1
dogear_admission_requests_total{decision="draining",operation="unknown"} 1
dogear_admission_requests_total{decision="invalid",operation="unknown"} 1
dogear_admission_requests_total{decision="no-answer",operation="CONNECT"} 1
dogear_admission_requests_total{decision="panic",operation="DELETE"} 1
dogear_admission_requests_total{decision="too-large",operation="unknown"} 1
# HELP dogear_webhook_certificate_expiry_timestamp_seconds When the serving certificate expires, as Unix time; 0 without one.
# TYPE dogear_webhook_certificate_expiry_timestamp_seconds gauge
dogear_webhook_certificate_expiry_timestamp_seconds 1.8e+09
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want),
		"dogear_admission_requests_total", "dogear_webhook_certificate_expiry_timestamp_seconds"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(metrics.duration); n != 1 {
		t.Errorf("%d histograms", n)
	}
	if _, err := NewMetrics(registry, time.Now); err == nil {
		t.Error("the same metrics were registered twice")
	}
}
