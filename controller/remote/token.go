package remote

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// What is wrong with a token.
var (
	ErrTokenForged  = errors.New("the token is not one of ours")
	ErrTokenExpired = errors.New("the token has expired")
)

// maxToken is well above what the longest names come to.
const maxToken = 4096

// minTokenKey is the least number of bytes of a key that authenticates tokens.
const minTokenKey = 32

// Token says which attempt a callback is the end of. It is authenticated, not
// secret: it names what the endpoint was told anyway.
type Token struct {
	GVK             schema.GroupVersionKind
	Namespace, Name string
	UID             types.UID
	Handler         string
	// Nonce is the uid of the request. It makes the token good for one use: it
	// is the Completion of the Result that the engine has recorded, or no more.
	Nonce string
	// Expires has a resolution of seconds.
	Expires time.Time
}

// tokenJSON is a token on its way; short names keep URLs short.
type tokenJSON struct {
	Group     string `json:"g,omitempty"`
	Version   string `json:"v"`
	Kind      string `json:"k"`
	Namespace string `json:"s,omitempty"`
	Name      string `json:"n"`
	UID       string `json:"u"`
	Handler   string `json:"h"`
	Nonce     string `json:"o"`
	Expires   int64  `json:"e"`
}

// NewNonce returns 128 random bits as text that is fit for a URL.
func NewNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Mint returns the token as text that is fit for a URL, authenticated by the
// first key. A key has at least 32 bytes.
func Mint(keys [][]byte, t Token) (string, error) {
	if len(keys) == 0 || len(keys[0]) < minTokenKey {
		return "", fmt.Errorf("mint a token: want a key of at least %d bytes", minTokenKey)
	}
	body, err := json.Marshal(tokenJSON{
		Group: t.GVK.Group, Version: t.GVK.Version, Kind: t.GVK.Kind, Namespace: t.Namespace, Name: t.Name,
		UID: string(t.UID), Handler: t.Handler, Nonce: t.Nonce, Expires: t.Expires.Unix(),
	})
	if err != nil {
		return "", fmt.Errorf("mint a token: %w", err)
	}
	payload := base64.RawURLEncoding.EncodeToString(body)
	return payload + "." + tokenMAC(keys[0], payload), nil
}

// Verify reads a token that one of the keys has authenticated. The error is
// ErrTokenForged or ErrTokenExpired.
func Verify(keys [][]byte, text string, now time.Time) (Token, error) {
	if len(text) > maxToken {
		return Token{}, ErrTokenForged
	}
	payload, mac, _ := strings.Cut(text, ".")
	if !authentic(keys, payload, mac) {
		return Token{}, ErrTokenForged
	}
	var t tokenJSON
	body, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || json.Unmarshal(body, &t) != nil {
		return Token{}, ErrTokenForged
	}
	token := Token{
		GVK:       schema.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: t.Kind},
		Namespace: t.Namespace, Name: t.Name, UID: types.UID(t.UID),
		Handler: t.Handler, Nonce: t.Nonce, Expires: time.Unix(t.Expires, 0).UTC(),
	}
	if !now.Before(token.Expires) {
		return token, ErrTokenExpired
	}
	return token, nil
}

// authentic compares text, not bytes: base64 has several texts for the same.
func authentic(keys [][]byte, payload, mac string) bool {
	for _, key := range keys {
		if len(key) >= minTokenKey && hmac.Equal([]byte(mac), []byte(tokenMAC(key, payload))) {
			return true
		}
	}
	return false
}

// tokenMAC names its purpose, so that a key which is used for something else,
// too, makes no tokens there.
func tokenMAC(key []byte, payload string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("dogear callback 1\n" + payload))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
