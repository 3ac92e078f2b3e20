package uninstall

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestTextOfAResult(t *testing.T) {
	r := &Result{
		Namespace: "dogear", DryRun: true,
		Resources: []Resource{
			{Resource: "certificates.cert-manager.io", Objects: 1200, Released: 1000, Cleaned: 1100, Left: 2},
			{Resource: "services", Objects: 7},
		},
		Unfinished: Unfinished{Total: 22, Objects: []Object{{"services", "shop", "web"}}},
		Left: []Left{
			{Object{"certificates.cert-manager.io", "shop", "a"}, "refused"},
			{Object{"certificates.cert-manager.io", "shop", "b"}, "refused"},
			{Object{Resource: "things.example.com"}, "not answered"},
			{Object{Resource: "things.example.com", Namespace: "shop"}, "not listed"},
		},
		Notes: []string{"All is well"},
	}
	const want = `RESOURCE                      OBJECTS  RELEASED  CLEANED  LEFT
certificates.cert-manager.io  1200     1000      1100     2
1 resource without anything to take off

Not finished: 22 objects were in deletion, but the Delete handlers had not succeeded. What they clean up is left over:
    services shop/web
    and 21 more

Left, 4:
  certificates.cert-manager.io: refused
    certificates.cert-manager.io shop/a
    certificates.cert-manager.io shop/b
  things.example.com: not answered
  things.example.com: not listed
    things.example.com shop/

Note: All is well.

Nothing was changed: this is a dry run.
`
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || b.String() != want {
		t.Errorf("%v: got\n%s", err, b.String())
	}
	for i := range 150 {
		r.Left = append(r.Left, Left{Object{"services", "shop", fmt.Sprint(i)}, "refused"})
	}
	b.Reset()
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "services shop/99\n    and 50 more\n") {
		t.Errorf("%v: got\n%s", err, b.String())
	}
}

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
		if have := reason(fmt.Errorf("wrapped: %w", c.err)); have != c.want && !strings.HasPrefix(c.want, "the API server does not answer") {
			t.Errorf("%v: got %q, want %q", c.err, have, c.want)
		}
		if strings.Contains(reason(c.err), secret) {
			t.Errorf("got %q", reason(c.err))
		}
	}
}

func TestEventsInWords(t *testing.T) {
	if have := (Event{Resource: "services", Released: 3, Seen: 500, Total: 1200}).String(); have != "services: 3 released, 500 of 1200 looked at" {
		t.Errorf("got %q", have)
	}
	if have := (Event{Text: "Done"}).String(); have != "Done" {
		t.Errorf("got %q", have)
	}
}
