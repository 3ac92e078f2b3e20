package remote

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"regexp"
	"strings"
)

type traceKey struct{}

var traceparent = regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// WithTraceparent returns a context whose calls carry this W3C traceparent. One
// that is not valid is dropped, as the standard asks.
func WithTraceparent(ctx context.Context, parent string) context.Context {
	if !traceparent.MatchString(parent) || strings.HasPrefix(parent[3:], strings.Repeat("0", 32)) || parent[36:52] == strings.Repeat("0", 16) {
		return ctx
	}
	return context.WithValue(ctx, traceKey{}, parent)
}

// traceparentOf is that of the context, as it is, because Dogear makes no span
// of its own; else a new one, marked as sampled, so that the endpoint decides.
func traceparentOf(ctx context.Context) string {
	if parent, ok := ctx.Value(traceKey{}).(string); ok {
		return parent
	}
	var id [24]byte
	_, _ = rand.Read(id[:]) // never fails
	return "00-" + hex.EncodeToString(id[:16]) + "-" + hex.EncodeToString(id[16:]) + "-01"
}
