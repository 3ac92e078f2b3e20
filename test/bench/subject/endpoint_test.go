package subject

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

func TestTheEndpointSucceedsAtTheAttemptThatItsPathNames(t *testing.T) {
	for _, c := range []struct {
		path    string
		attempt string
		want    v1alpha1.Outcome
		after   time.Duration
	}{
		{AnswerPath(1, 0), "1", v1alpha1.OutcomeSucceeded, 0},
		{AnswerPath(3, 100*time.Millisecond), "1", v1alpha1.OutcomeRetrying, 100 * time.Millisecond},
		{AnswerPath(3, 100*time.Millisecond), "2", v1alpha1.OutcomeRetrying, 100 * time.Millisecond},
		{AnswerPath(3, 100*time.Millisecond), "3", v1alpha1.OutcomeSucceeded, 0},
		{"/", "1", v1alpha1.OutcomeSucceeded, 0},
	} {
		body := `{"apiVersion":"dogear.dev/v1alpha1","kind":"HandlerReview","request":{"uid":"u","attempt":` + c.attempt + `}}`
		recorder := httptest.NewRecorder()
		answer(recorder, httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(body)))
		var got v1alpha1.HandlerReview
		decoder := json.NewDecoder(recorder.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&got); err != nil {
			t.Fatalf("%s, attempt %s: %v", c.path, c.attempt, err)
		}
		r := got.Response
		if got.APIVersion != "dogear.dev/v1alpha1" || got.Kind != "HandlerReview" || r == nil || r.UID != "u" || r.Outcome != c.want {
			t.Errorf("%s, attempt %s: %+v %+v", c.path, c.attempt, got, r)
			continue
		}
		if c.after > 0 && (r.After == nil || r.After.Duration != c.after) {
			t.Errorf("%s, attempt %s: after %v, want %s", c.path, c.attempt, r.After, c.after)
		}
	}
}

func TestTheEndpointRefusesWhatIsNoRequest(t *testing.T) {
	recorder := httptest.NewRecorder()
	answer(recorder, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("no")))
	if recorder.Code != http.StatusBadRequest {
		t.Errorf("status %d, want %d", recorder.Code, http.StatusBadRequest)
	}
}
