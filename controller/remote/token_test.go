package remote

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var tokenKeys = [][]byte{[]byte(strings.Repeat("a", 32)), []byte(strings.Repeat("b", 32)), []byte(strings.Repeat("c", 40))}

func token(expires time.Time) Token {
	return Token{
		GVK: schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}, Namespace: "shop", Name: "web",
		UID: types.UID("1b5a0b5e"), Handler: "certificates/myapp", Nonce: NewNonce(), Expires: expires.UTC().Truncate(time.Second),
	}
}

func mint(t testing.TB, keys [][]byte, token Token) string {
	t.Helper()
	text, err := Mint(keys, token)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestATokenComesBackAsItWas(t *testing.T) {
	t.Parallel()
	now := time.Now()
	longest := token(now.Add(time.Hour))
	longest.GVK = schema.GroupVersionKind{Group: strings.Repeat("g", 253), Version: strings.Repeat("v", 63), Kind: strings.Repeat("K", 63)}
	longest.Namespace, longest.Name, longest.Handler = strings.Repeat("s", 63), strings.Repeat("n", 253), strings.Repeat("h", 253)
	for _, want := range []Token{token(now.Add(time.Hour)), longest, {Name: "cluster", Expires: now.Add(time.Minute).UTC().Truncate(time.Second)}} {
		text := mint(t, tokenKeys, want)
		if strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || len(text) > maxToken/2 {
			t.Errorf("%d bytes, %q: want text for a URL", len(text), text)
		}
		if got, err := Verify(tokenKeys, text, now); got != want || err != nil {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, want)
		}
	}
}

func TestAnOlderKeyStillCounts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	old := mint(t, tokenKeys[1:], token(now.Add(time.Hour)))
	if _, err := Verify(tokenKeys, old, now); err != nil {
		t.Errorf("by the second key: %v", err)
	}
	if _, err := Verify(tokenKeys[:1], old, now); !errors.Is(err, ErrTokenForged) {
		t.Errorf("by a key that is gone: %v: want that it is forged", err)
	}
}

func TestATokenExpires(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	text := mint(t, tokenKeys, token(now.Add(time.Minute)))
	if _, err := Verify(tokenKeys, text, now.Add(time.Minute-time.Nanosecond)); err != nil {
		t.Error(err)
	}
	if got, err := Verify(tokenKeys, text, now.Add(time.Minute)); !errors.Is(err, ErrTokenExpired) || got.Name != "web" {
		t.Errorf("got %v: want that it has expired", err)
	}
}

func TestWhatIsNoTokenOfOursIsForged(t *testing.T) {
	t.Parallel()
	now := time.Now()
	text := mint(t, tokenKeys, token(now.Add(time.Hour)))
	payload, mac, _ := strings.Cut(text, ".")
	other := mint(t, tokenKeys, token(now.Add(2*time.Hour)))
	otherPayload, _, _ := strings.Cut(other, ".")
	forged := map[string]string{
		"nothing": "", "a dot": ".", "dots": "..", "payload alone": payload, "no MAC": payload + ".", "no payload": "." + mac,
		"payload of another": otherPayload + "." + mac, "swapped": mac + "." + payload, "something behind": text + "A", "a line behind": text + "\n", "padded": text + "=",
		"huge": strings.Repeat("A", 10<<20), "huge and signed": strings.Repeat("A", maxToken) + "." + mac,
		"later":  base64.RawURLEncoding.EncodeToString([]byte(`{"v":"v1","k":"K","n":"n","u":"u","h":"h","o":"o","e":99999999999}`)) + "." + mac,
		"a null": "bnVsbA." + mac,
	}
	for i := range text { // each bit of the text
		for bit := range 8 {
			changed := []byte(text)
			changed[i] ^= 1 << bit
			forged["a bit of "+string(changed)] = string(changed)
		}
		forged["cut to "+text[:i]] = text[:i]
	}
	for name, text := range forged {
		if _, err := Verify(tokenKeys, text, now); !errors.Is(err, ErrTokenForged) {
			t.Errorf("%.60s: %v: want that it is forged", name, err)
		}
	}
	if _, err := Verify(nil, text, now); !errors.Is(err, ErrTokenForged) {
		t.Errorf("without keys: %v", err)
	}
}

func TestAShortKeyMakesNoTokens(t *testing.T) {
	t.Parallel()
	for _, keys := range [][][]byte{nil, {nil}, {[]byte("short")}} {
		if _, err := Mint(keys, token(time.Now())); err == nil {
			t.Errorf("%d keys: want an error", len(keys))
		}
	}
}

func FuzzVerify(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	fixed := token(now.Add(time.Hour))
	fixed.Nonce = "the same in all processes"
	text := mint(f, tokenKeys, fixed)
	f.Add(text)
	f.Add("a.b")
	f.Fuzz(func(t *testing.T, got string) {
		if _, err := Verify(tokenKeys, got, now); err == nil && got != text {
			t.Errorf("%q was taken", got)
		}
	})
}
