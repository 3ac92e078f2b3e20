package installation

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refuser finds out of a refusal's text who has refused: of all that such
// texts say, that alone holds nothing of the object.
var refuser = regexp.MustCompile(`^(?:.*: )?(admission webhook "[^"]*"|(?:Validating|Mutating)AdmissionPolicy '[^']*'(?: with binding '[^']*')?)`)

// Reason says why the API server has refused something, without the values that
// its text may repeat.
func Reason(err error) string {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return "the API server does not answer: " + err.Error()
	}
	s := api.Status()
	if _, missing, ok := strings.Cut(s.Message, "is forbidden: User "); ok && apierrors.IsForbidden(err) {
		return "rights are missing: user " + missing
	}
	if by := refuser.FindStringSubmatch(s.Message); by != nil {
		return fmt.Sprintf("%s refuses it (%d)", by[1], s.Code)
	}
	var fields []string
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if cause.Type != metav1.CauseTypeUnexpectedServerResponse {
				fields = append(fields, fieldName(cause.Field)+" ("+string(cause.Type)+")")
			}
		}
	}
	switch {
	case apierrors.IsInvalid(err) && len(fields) > 0:
		return "the object as stored breaks a rule of its kind, so no change of it is taken: " + strings.Join(fields, ", ")
	case apierrors.IsForbidden(err):
		return "the API server or a policy refuses it (403)"
	}
	return fmt.Sprintf("the API server answers %d %s", s.Code, s.Reason)
}

// fieldName names the field of a cause; a rule for the whole object has none.
func fieldName(field string) string {
	if field == "" || field == "<nil>" {
		return "the object"
	}
	return field
}

// Answered tells whether an error is an answer of the API server.
func Answered(err error) bool {
	var api apierrors.APIStatus
	return errors.As(err, &api)
}

// Transient tells whether the answer to the same request may be another one the
// next time. It says nothing about whether the request was carried out.
func Transient(err error) bool {
	if err == nil {
		return false
	}
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return true
	}
	return api.Status().Code >= 500 || apierrors.IsTooManyRequests(err) || apierrors.IsConflict(err)
}
