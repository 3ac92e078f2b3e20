package installation

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dogear-dev/dogear/controller/answer"
)

// Reason says why the API server has refused something, without the values that
// its text may repeat.
func Reason(err error) string {
	refusal := answer.Of(err)
	switch {
	case refusal == nil:
		return "the API server does not answer: " + err.Error()
	case refusal.Invalid():
		return "the object as stored breaks a rule of its kind, so no change of it is taken: " + refusal.FieldNames()
	}
	return refusal.String()
}

// Answered tells whether an error is an answer of the API server.
func Answered(err error) bool {
	var api apierrors.APIStatus
	return errors.As(err, &api)
}

// Transient tells whether the answer to the same request may be another one the
// next time. It says nothing about whether the request was carried out. A conflict
// is none: the object has to be read before.
func Transient(err error) bool {
	if err == nil {
		return false
	}
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return true
	}
	return api.Status().Code >= 500 || apierrors.IsTooManyRequests(err)
}
