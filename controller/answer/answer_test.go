package answer_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/dogear-dev/dogear/controller/answer"
)

func TestAnAnswerIsToldWithoutTheValuesOfObjects(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	kind := schema.GroupKind{Group: "example.com", Kind: "Thing"}
	things := schema.GroupResource{Group: "example.com", Resource: "things"}
	denied := func(code int32, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Reason: metav1.StatusReasonForbidden, Message: message}}
	}
	for _, c := range []struct {
		err  error
		want string
	}{
		{apierrors.NewInvalid(kind, "x", field.ErrorList{field.Invalid(field.NewPath("spec", "size"), secret, secret), field.Required(nil, secret)}),
			"it breaks a rule of its kind: spec.size (FieldValueInvalid), the object (FieldValueRequired)"},
		{apierrors.NewForbidden(things, "x", errors.New(`User "me" cannot create resource "things"`)), `rights are missing: user "me" cannot create resource "things"`},
		{apierrors.NewForbidden(things, "x", errors.New(secret)), "the API server or a policy refuses it (403)"},
		{denied(400, `admission webhook "keep.example.com" denied the request: `+secret), `admission webhook "keep.example.com" refuses it (400)`},
		{apierrors.NewForbidden(things, "x", errors.New(`ValidatingAdmissionPolicy 'keep' with binding 'all' denied request: `+secret)),
			"ValidatingAdmissionPolicy 'keep' with binding 'all' refuses it (403)"},
		{apierrors.NewInternalError(errors.New(secret)), "the API server answers 500 InternalError"},
		{apierrors.NewBadRequest(secret), "the API server answers 400 BadRequest"},
		{apierrors.NewGenericServerResponse(422, "patch", things, "x", secret, 0, true), "the API server answers 422 Invalid"},
	} {
		if have := answer.Of(fmt.Errorf("wrapped: %w", c.err)).String(); have != c.want {
			t.Errorf("%v: got %q, want %q", c.err, have, c.want)
		}
	}
	if answer.Of(nil) != nil || answer.Of(errors.New("connection refused")) != nil {
		t.Error("what is no answer is taken for one")
	}
}
