package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

func TestNewSaysWhichOptionCannotBeUsed(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]Options{
		"Domain":                     {},
		"is no DNS name":             {Domain: "Not A Domain"},
		`Namespaces has ""`:          {Domain: "a.example.com", Namespaces: []string{"shop", ""}},
		`Namespaces has "*"`:         {Domain: "a.example.com", Namespaces: []string{"*"}},
		"Workers":                    {Domain: "a.example.com", Workers: -1},
		"Budget":                     {Domain: "a.example.com", Budget: storage.Budget{Marker: 1 << 20}},
		"set Service (in a cluster)": {Domain: "a.example.com", Webhook: &Webhook{}},
		"want https://host:port":     {Domain: "a.example.com", Webhook: &Webhook{URL: "http://a.example.com"}},
		"without user, query":        {Domain: "a.example.com", Webhook: &Webhook{URL: "https://a.example.com/x?y=1"}},
		"query and fragment":         {Domain: "a.example.com", Webhook: &Webhook{URL: "https://u:p@a.example.com"}},
		"Webhook.Timeout":            {Domain: "a.example.com", Webhook: &Webhook{Service: "s", Timeout: time.Millisecond}},
		"Roles leave nothing to do":  {Domain: "a.example.com", Roles: RoleWebhook},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	if _, err := New(Options{Domain: "a.example.com", Budget: storage.Budget{Marker: 8 << 10}}); err != nil {
		t.Errorf("a small budget: %v", err)
	}
	if _, err := New(Options{Domain: "a.example.com", Namespaces: []string{"shop", "bank"}}); err != nil {
		t.Errorf("some namespaces: %v", err)
	}
}

func TestEventsKeepTheBoundsOfTheServer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"short", strings.Repeat("x", 2000), strings.Repeat("é", 1000)} {
		if have := cut(text, maxNote); len(have) > maxNote || !strings.HasPrefix(text, strings.TrimSuffix(have, "…")) {
			t.Errorf("%d bytes: %q", len(have), have)
		}
	}
}

func TestErrorsAreToldWithoutTheValuesOfObjects(t *testing.T) {
	t.Parallel()
	kind := schema.GroupKind{Group: "g", Kind: "K"}
	secret := "hunter2"
	invalid := apierrors.NewInvalid(kind, "n", nil)
	invalid.ErrStatus.Message = secret
	invalid.ErrStatus.Details.Causes = []metav1.StatusCause{{Field: "spec.size", Type: "FieldValueInvalid", Message: secret}}
	for want, err := range map[string]error{
		"the object keeps changing":               nil,
		"the API server did not answer":           errors.New("dial: " + secret),
		"spec.size: FieldValueInvalid":            invalid,
		"missing rights: user \"u\" cannot patch": apierrors.NewForbidden(schema.GroupResource{Resource: "ks"}, "n", errors.New(`User "u" cannot patch resource "ks"`)),
		"the API server answered 403 Forbidden":   apierrors.NewForbidden(schema.GroupResource{Resource: "ks"}, "n", errors.New("you cannot have "+secret)),
		"no room under the limit":                 storage.ErrNoRoom,
		"annotation a/handled: ":                  &storage.FormatError{Key: "a/handled", Err: storage.ErrNewer},
		"the predicate of a handler panics":       handler.RecoverPanic(secret),
	} {
		have := safeText(err)
		if strings.Contains(have, secret) || !strings.Contains(strings.ToLower(have), strings.ToLower(want)) {
			t.Errorf("%q, want %q", have, want)
		}
	}
}

func TestAnotherVersionOfAKindIsNotForgotten(t *testing.T) {
	t.Parallel()
	l := &ledger{Kinds: []string{"Widget.v1beta1.example.com", "Gone.v1.example.com", "Service.v1."}}
	sets := []*selection.Set{{Kind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}, Handlers: []*selection.Handler{{}}}}
	forgotten := l.forgotten((&declared{sets: sets}).known())
	if len(forgotten) != 2 || forgotten[0].Kind != "Gone" || forgotten[1].Kind != "Service" {
		t.Errorf("forgotten: %v", forgotten)
	}
}
