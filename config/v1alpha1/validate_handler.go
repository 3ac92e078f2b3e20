package v1alpha1

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var secrets = schema.GroupResource{Resource: "secrets"}

func (v *validator) handler(at *field.Path, h *Handler) {
	for i, text := range h.Fields {
		v.path(at.Child("fields").Index(i), text)
	}
	isSecrets := v.spec.Resource.GroupResource() == secrets
	if h.Diff && isSecrets {
		v.errs = append(v.errs, field.Forbidden(at.Child("diff"), "earlier values of Secrets are never kept"))
	}
	if h.HTTP.IncludeSecretData && !isSecrets {
		v.errs = append(v.errs, field.Forbidden(at.Child("http", "includeSecretData"), "it is for sets whose resource is secrets"))
	}
	v.http(at.Child("http"), &h.HTTP)
}

func (v *validator) http(at *field.Path, h *HTTP) {
	if h.URL != "" {
		if problem := badURL(h.URL); problem != "" {
			v.invalid(at.Child("url"), "(URL)", "%s", problem) // it may have a password in it
		}
	}
	if len(h.CABundle) > 0 {
		if err := checkCABundle(h.CABundle); err != nil {
			v.invalid(at.Child("caBundle"), "(PEM)", "%s", err)
		}
	}
	total, _, _ := h.Timeouts()
	v.within(at.Child("connectTimeout"), h.ConnectTimeout, total)
	v.within(at.Child("headerTimeout"), h.HeaderTimeout, total)
	for i, text := range h.Projection {
		at := at.Child("projection").Index(i)
		if path, ok := v.path(at, text); ok {
			if _, ok := path.Names(); !ok {
				v.invalid(at, text, "items of lists cannot be picked: name the list, which is sent as a whole")
			}
		}
	}
}

func (v *validator) within(at *field.Path, span *Duration, total time.Duration) {
	if span.or(0) > total {
		v.invalid(at, short(span.Duration), "it is longer than timeout (%s), which bounds the whole attempt", short(total))
	}
}

// badURL tells what is wrong with the URL of an endpoint.
func badURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "it is no URL" // err quotes it
	case u.Scheme != "https":
		return "want https://"
	case u.Hostname() == "":
		return "it has no host"
	case u.User != nil:
		return "it has a user: whom a request is from is told by its signature (secretRef) or client certificate"
	case u.Fragment != "":
		return "it has a fragment, which is never sent"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "its port is not in 1 to 65535"
		}
	}
	return ""
}

// checkCABundle fails where a block of the bundle is no certificate.
func checkCABundle(bundle []byte) error {
	n := 0
	for block, rest := pem.Decode(bundle); ; block, rest = pem.Decode(rest) {
		if block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("want certificates only: there is a %q block", block.Type)
		}
		if n++; n > 1000 {
			return fmt.Errorf("more than 1000 certificates")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("certificate %d: %w", n, err)
		}
	}
	if n == 0 {
		return fmt.Errorf("there is no certificate in it: want PEM, in base64")
	}
	return nil
}

// short is a span as a person writes it: 10s, not 10.0s or 10m0s.
func short(span time.Duration) string {
	if span >= time.Minute && span%time.Minute == 0 {
		return strconv.FormatInt(int64(span/time.Minute), 10) + "m"
	}
	return span.String()
}
