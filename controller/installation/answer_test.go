package installation_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/dogear-dev/dogear/controller/installation"
)

func TestReasonsHoldNothingOfTheObject(t *testing.T) {
	const secret = "secret sauce"
	kind := schema.GroupKind{Group: "example.com", Kind: "Thing"}
	things := schema.GroupResource{Group: "example.com", Resource: "things"}
	for _, c := range []struct {
		err  error
		want string
	}{
		{apierrors.NewInvalid(kind, "x", field.ErrorList{field.Invalid(field.NewPath("spec", "size"), secret, secret), field.Required(nil, secret)}),
			"the object as stored breaks a rule of its kind, so no change of it is taken: spec.size (FieldValueInvalid), the object (FieldValueRequired)"},
		{apierrors.NewForbidden(things, "x", errors.New(`User "me" cannot patch resource "things" in API group "example.com" at the cluster scope`)),
			`rights are missing: user "me" cannot patch resource "things" in API group "example.com" at the cluster scope`},
		{apierrors.NewForbidden(things, "x", errors.New(secret)), "the API server or a policy refuses it (403)"},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Code: 403, Reason: "Forbidden", Message: `admission webhook "keep.example.com" denied the request: ` + secret}},
			`admission webhook "keep.example.com" refuses it (403)`},
		{apierrors.NewForbidden(things, "x", errors.New(`ValidatingAdmissionPolicy 'keep' with binding 'all' denied request: `+secret)),
			"ValidatingAdmissionPolicy 'keep' with binding 'all' refuses it (403)"},
		{apierrors.NewInternalError(errors.New(secret)), "the API server answers 500 InternalError"},
		{apierrors.NewGenericServerResponse(422, "patch", things, "x", secret, 0, true), "the API server answers 422 Invalid"},
		{errors.New("connection refused"), "the API server does not answer: connection refused"},
	} {
		if have := installation.Reason(fmt.Errorf("wrapped: %w", c.err)); have != c.want && !strings.HasPrefix(c.want, "the API server does not answer") {
			t.Errorf("%v: got %q, want %q", c.err, have, c.want)
		}
		if strings.Contains(installation.Reason(c.err), secret) {
			t.Errorf("got %q", installation.Reason(c.err))
		}
	}
}
