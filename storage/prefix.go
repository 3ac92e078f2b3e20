package storage

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ServicePrefix is the annotation prefix of the service installed by the chart.
const ServicePrefix Prefix = "dogear.dev"

// Names of the annotations that make up a marker, each behind "<prefix>/".
const (
	KeyState    = "state"
	KeyHandled  = "handled"
	KeyProgress = "progress"
	KeyStatus   = "status"
	KeyBase     = "base"
	KeyRetry    = "retry"
	KeyPaused   = "paused"
)

// markerKeys are all keys of a marker, in the order in which they are written.
var markerKeys = []string{KeyState, KeyHandled, KeyProgress, KeyStatus, KeyBase, KeyRetry, KeyPaused}

// Prefix is the annotation prefix of one operator, without the slash:
// "dogear.dev" for the service, "dogear.<domain>" for an SDK operator.
type Prefix string

// ServiceDomain is the domain of the service's operator.
const ServiceDomain = "dev"

// PrefixFor returns the prefix of the operator with this domain.
// It fails where "dogear.<domain>" is no valid annotation prefix.
func PrefixFor(domain string) (Prefix, error) {
	if domain == "" {
		return "", fmt.Errorf("domain is empty: set it to a DNS name that only this operator uses, such as certs.example.com")
	}
	p := "dogear." + domain
	if errs := validation.IsDNS1123Subdomain(p); len(errs) > 0 {
		return "", fmt.Errorf("domain %q is no DNS name: %s", domain, strings.Join(errs, "; "))
	}
	return Prefix(p), nil
}

// Key returns the annotation key "<prefix>/<name>".
func (p Prefix) Key(name string) string { return string(p) + "/" + name }

// Finalizer is the one finalizer that the operator of this prefix uses.
func (p Prefix) Finalizer() string { return string(p) + "/finalizer" }

// Owns tells whether an annotation key belongs to this operator.
func (p Prefix) Owns(key string) bool {
	return len(key) > len(p) && key[len(p)] == '/' && key[:len(p)] == string(p)
}

// IsState tells whether an annotation key is Dogear state of any operator:
// its prefix is "dogear" followed by a dot and anything.
func IsState(key string) bool {
	prefix, _, ok := strings.Cut(key, "/")
	return ok && strings.HasPrefix(prefix, "dogear.")
}
