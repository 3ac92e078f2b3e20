package remote

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/handler"
)

// DefaultLifetime is how long the token of a callback is good for.
const DefaultLifetime = 24 * time.Hour

// TokenKeySource returns the keys that authenticate tokens, each of at least 32
// bytes: the first one makes tokens, the others were first before.
type TokenKeySource func(context.Context) ([][]byte, error)

// Callbacks makes the addresses to which outcomes may be sent later.
type Callbacks struct {
	// Base is the URL of Dogear that endpoints can reach, to which
	// /callback/<token> is appended.
	Base string
	// Keys make the tokens.
	Keys TokenKeySource
	// Lifetime is that of a token. Default: 24 h.
	Lifetime time.Duration
	// Clock is the time. Default: the real one.
	Clock clock.PassiveClock
}

var _ CallbackSource = Callbacks{}.Offer

// Offer is a CallbackSource. The token's nonce is the uid of the request, and
// the Completion of the Result where the endpoint's answer is Waiting.
func (c Callbacks) Offer(ctx context.Context, request *handler.RawRequest, uid string) (*v1alpha1.HandlerReviewCallback, error) {
	keys, err := c.Keys(ctx)
	if err != nil {
		return nil, err
	}
	now, lifetime := time.Now, c.Lifetime
	if c.Clock != nil {
		now = c.Clock.Now
	}
	if lifetime <= 0 {
		lifetime = DefaultLifetime
	}
	expires := now().Add(lifetime).Truncate(time.Second)
	token, err := Mint(keys, Token{
		GVK:       request.Object.GroupVersionKind(),
		Namespace: request.Object.GetNamespace(), Name: request.Object.GetName(), UID: request.Object.GetUID(),
		Handler: request.HandlerID, Nonce: uid, Expires: expires,
	})
	if err != nil {
		return nil, err
	}
	return &v1alpha1.HandlerReviewCallback{
		URL:     strings.TrimSuffix(c.Base, "/") + "/callback/" + token,
		Token:   token,
		Expires: metav1.NewTime(expires),
	}, nil
}
