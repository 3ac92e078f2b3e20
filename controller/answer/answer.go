// Package answer tells what the API server has answered, without the values of
// objects that its texts may repeat: those of validation hold whole fields, and
// those of admission what others make up.
package answer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal is what is told of an answer that is an error.
type Refusal struct {
	Code   int32
	Reason metav1.StatusReason
	// Missing is the right that was missing, as in: "name" cannot patch
	// resource "things"; empty: none was.
	Missing string
	// By is the admission webhook or policy that has refused; empty: none has.
	By string
	// Fields are those that are wrong, each with what is.
	Fields []Field
}

// Field is one that breaks a rule.
type Field struct {
	Path string // "the object" where the rule is one for all of it
	Rule metav1.CauseType
}

// refuser finds out of a refusal's text who has refused: of all that such
// texts say, that alone holds nothing of the object.
var refuser = regexp.MustCompile(`^(?:.*: )?(admission webhook "[^"]*"|(?:Validating|Mutating)AdmissionPolicy '[^']*'(?: with binding '[^']*')?)`)

// Of reads an error; nil: it is no answer of the API server.
func Of(err error) *Refusal {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return nil
	}
	s := api.Status()
	r := &Refusal{Code: s.Code, Reason: s.Reason}
	if _, missing, ok := strings.Cut(s.Message, "is forbidden: User "); ok && apierrors.IsForbidden(err) {
		r.Missing = missing
	} else if by := refuser.FindStringSubmatch(s.Message); by != nil {
		r.By = by[1]
	}
	if s.Details == nil {
		return r
	}
	for _, cause := range s.Details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			continue // its field is the text of a body
		}
		path := cause.Field
		if path == "" || path == "<nil>" {
			path = "the object"
		}
		r.Fields = append(r.Fields, Field{path, cause.Type})
	}
	return r
}

// String is the answer in words.
func (r *Refusal) String() string {
	switch {
	case r.Missing != "":
		return "rights are missing: user " + r.Missing
	case r.By != "":
		return fmt.Sprintf("%s refuses it (%d)", r.By, r.Code)
	case r.Invalid():
		return "it breaks a rule of its kind: " + r.FieldNames()
	case r.Reason == metav1.StatusReasonForbidden:
		return fmt.Sprintf("the API server or a policy refuses it (%d)", r.Code)
	}
	return fmt.Sprintf("the API server answers %d %s", r.Code, r.Reason)
}

// Invalid tells that the object breaks a rule, and which field does.
func (r *Refusal) Invalid() bool {
	return r.Reason == metav1.StatusReasonInvalid && r.By == "" && len(r.Fields) > 0
}

// FieldNames are the fields in words: spec.size (FieldValueInvalid), the object
// (FieldValueRequired).
func (r *Refusal) FieldNames() string {
	var names []string
	for _, f := range r.Fields {
		names = append(names, f.Path+" ("+string(f.Rule)+")")
	}
	return strings.Join(names, ", ")
}
