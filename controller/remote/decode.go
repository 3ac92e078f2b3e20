package remote

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apijson "sigs.k8s.io/json"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// incoming is a HandlerReview as an endpoint sends it. A request that comes
// back with it is not looked at.
type incoming struct {
	metav1.TypeMeta `json:",inline"`
	Request         json.RawMessage                 `json:"request,omitempty"`
	Response        *v1alpha1.HandlerReviewResponse `json:"response,omitempty"`
}

// reason is what a word for machines looks like; conditions accept it, too.
var reason = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,127}$`)

// decode reads the response of a HandlerReview, strictly: what an author got
// wrong shall come to light at once, and not be overlooked in silence.
func decode(body []byte, uid string) (*v1alpha1.HandlerReviewResponse, error) {
	var review incoming
	if err := strictly(body, &review); err != nil {
		return nil, err
	}
	if want := v1alpha1.GroupVersion.String(); review.APIVersion != want {
		return nil, fmt.Errorf("apiVersion is %q: want %q", brief(review.APIVersion), want)
	}
	if want := v1alpha1.HandlerReviewKind; review.Kind != want {
		return nil, fmt.Errorf("kind is %q: want %q", brief(review.Kind), want)
	}
	if review.Response == nil {
		return nil, errors.New("there is no response in it")
	}
	return review.Response, check(review.Response, uid)
}

func check(r *v1alpha1.HandlerReviewResponse, uid string) error {
	switch r.Outcome {
	case v1alpha1.OutcomeSucceeded, v1alpha1.OutcomeWaiting, v1alpha1.OutcomeRetrying, v1alpha1.OutcomeFailed:
	default:
		return fmt.Errorf("response.outcome is %q: want Succeeded, Waiting, Retrying or Failed", brief(string(r.Outcome)))
	}
	if r.UID != uid {
		return fmt.Errorf("response.uid is %q: want that of the request", brief(r.UID))
	}
	if r.Reason != "" && !reason.MatchString(r.Reason) {
		return fmt.Errorf("response.reason is %q: want a CamelCase word of at most 128 letters and digits", brief(r.Reason))
	}
	if r.After != nil && r.After.Duration < 0 {
		return fmt.Errorf("response.after is %s: want 0s to 24h", r.After.Duration)
	}
	if err := strictly(r.Status, new(any)); err != nil {
		return fmt.Errorf("response.status: %w", err)
	}
	if r.Patch == nil {
		return nil
	}
	for _, part := range []map[string]json.RawMessage{r.Patch.Spec, r.Patch.Fields} {
		for name, value := range part {
			if err := strictly(value, new(any)); err != nil {
				return fmt.Errorf("response.patch, field %q: %w", brief(name), err)
			}
		}
	}
	return nil
}

// strictly decodes JSON and refuses unknown and repeated members, names in the
// wrong case, and anything behind it. No text: it does nothing.
func strictly(text []byte, into any) error {
	if len(text) == 0 {
		return nil
	}
	strict, err := apijson.UnmarshalStrict(text, into)
	if err == nil && len(strict) > 0 {
		err = strict[0]
	}
	if err != nil {
		return errors.New(clean(err.Error()))
	}
	return nil
}
