package remote

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/dogear-dev/dogear/controller/handler"
)

// secretKey is a key as it stands in a Secret.
func secretKey(letter string) string {
	return keyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 32)))
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	encode := base64.StdEncoding.EncodeToString
	for name, test := range map[string]struct{ text, problem string }{
		"a key":               {secretKey("a"), ""},
		"a line of a file":    {secretKey("a") + "\n", ""},
		"the shortest":        {keyPrefix + encode(make([]byte, 24)), ""},
		"the longest":         {keyPrefix + encode(make([]byte, 64)), ""},
		"too short":           {keyPrefix + encode(make([]byte, 23)), "23 bytes"},
		"too long":            {keyPrefix + encode(make([]byte, 65)), "65 bytes"},
		"empty":               {"", `want "whsec_"`},
		"no prefix":           {encode(make([]byte, 32)), `want "whsec_"`},
		"another base64":      {keyPrefix + strings.Repeat("-_", 16), "standard base64"},
		"without padding":     {keyPrefix + strings.TrimRight(encode(make([]byte, 32)), "="), "padding"},
		"an asymmetric key":   {"whsk_" + encode(make([]byte, 32)), `want "whsec_"`},
		"a secret of its own": {"sesame-open-sesame-open-sesame", `want "whsec_"`},
	} {
		_, err := ParseKey(test.text)
		if (err == nil) != (test.problem == "") || (err != nil && !strings.Contains(err.Error(), test.problem)) {
			t.Errorf("%s: %v: want %q", name, err, test.problem)
		}
		if err != nil && len(test.text) > 10 && strings.Contains(err.Error(), test.text[6:]) {
			t.Errorf("%s: the key is quoted: %v", name, err)
		}
	}
}

func TestAKeyNeverPrints(t *testing.T) {
	t.Parallel()
	key, err := ParseKey(secretKey("a"))
	if err != nil {
		t.Fatal(err)
	}
	encoded, _ := json.Marshal(struct{ Key Key }{key})
	for _, text := range []string{fmt.Sprint(key), fmt.Sprintf("%+v %#v %s %q %v", key, key, key, key, []Key{key}), string(encoded)} {
		if strings.Contains(text, "aaa") || strings.Contains(text, "YWFh") || strings.Contains(text, "97") {
			t.Errorf("the key prints: %s", text)
		}
	}
}

// TestRequestsAreSignedAsTheLibraryExpects, also while keys are changed: a
// receiver with either key accepts the request, one with a third does not.
func TestRequestsAreSignedAsTheLibraryExpects(t *testing.T) {
	t.Parallel()
	type sent struct {
		header http.Header
		body   []byte
	}
	got := make(chan sent, 1)
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- sent{r.Header, body}
		w.WriteHeader(http.StatusNoContent)
	})
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "hooks", Name: "signing"},
		Data:       map[string][]byte{"key": []byte(secretKey("a"))},
	}
	c, now := newCluster(secret), testingclock.NewFakeClock(time.Now())
	shared := loopback()
	shared.Clock = now
	e := to(server)
	e.Keys = NewSecrets(c, now).Keys(types.NamespacedName{Namespace: "hooks", Name: "signing"})
	h := handlerOf(t, e, shared)

	for step, test := range []struct{ key, previous, accepted string }{
		{"a", "", "a"}, {"a", "b", "ab"}, {"b", "a", "ab"}, {"b", "", "b"},
	} {
		secret.Data = map[string][]byte{"key": []byte(secretKey(test.key))}
		if test.previous != "" {
			secret.Data["previous"] = []byte(secretKey(test.previous))
		}
		if err := c.Update(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		now.Step(secretTTL)
		now.SetTime(time.Now().Add(time.Duration(step) * secretTTL)) // the library looks at the real clock
		want(t, run(t, h), handler.Succeeded, "", "")
		s := <-got
		if id := s.header.Get("webhook-id"); id != request().IdempotencyID {
			t.Errorf("webhook-id is %q: want the idempotency ID", id)
		}
		for _, letter := range []string{"a", "b", "c"} {
			webhook, err := webhooks.NewWebhook(secretKey(letter))
			if err != nil {
				t.Fatal(err)
			}
			if accepted := webhook.Verify(s.body, s.header) == nil; accepted != strings.Contains(test.accepted, letter) {
				t.Errorf("step %d: key %s accepted: %v", step, letter, accepted)
			}
		}
	}
	if n := c.reads.Load(); n != 4 {
		t.Errorf("the Secret was read %d times: want 4", n)
	}
}

func TestAChangedBodyHasNoSignature(t *testing.T) {
	t.Parallel()
	key, _ := ParseKey(secretKey("a"))
	now := time.Now()
	header := http.Header{}
	if err := sign(header, []Key{key}, "id", now, []byte("body")); err != nil {
		t.Fatal(err)
	}
	other, _ := ParseKey(secretKey("b"))
	without := func(name string) http.Header { h := header.Clone(); h.Del(name); return h }
	with := func(name, value string) http.Header { h := header.Clone(); h.Set(name, value); return h }
	for name, test := range map[string]struct {
		header http.Header
		keys   []Key
		at     time.Time
		body   string
		text   string
	}{
		"as it was signed":    {header, []Key{key}, now, "body", ""},
		"with another key":    {header, []Key{other, key}, now, "body", ""},
		"four minutes later":  {header, []Key{key}, now.Add(4 * time.Minute), "body", ""},
		"another body":        {header, []Key{key}, now, "bodY", "no signature"},
		"another id":          {with("webhook-id", "id2"), []Key{key}, now, "body", "no signature"},
		"another time":        {with("webhook-timestamp", fmt.Sprint(now.Unix()+1)), []Key{key}, now, "body", "no signature"},
		"by another key":      {header, []Key{other}, now, "body", "no signature"},
		"six minutes later":   {header, []Key{key}, now.Add(6 * time.Minute), "body", "older or newer than 5m"},
		"six minutes earlier": {header, []Key{key}, now.Add(-6 * time.Minute), "body", "older or newer than 5m"},
		"no id":               {without("webhook-id"), []Key{key}, now, "body", "webhook-id is missing"},
		"no time":             {without("webhook-timestamp"), []Key{key}, now, "body", "webhook-timestamp is missing"},
		"no signature":        {without("webhook-signature"), []Key{key}, now, "body", "webhook-signature is missing"},
		"a time of words":     {with("webhook-timestamp", "now"), []Key{key}, now, "body", "no number"},
		"a scheme of others":  {with("webhook-signature", "v1a,"+strings.TrimPrefix(header.Get("webhook-signature"), "v1,")), []Key{key}, now, "body", "no signature"},
	} {
		err := verify(test.header, test.keys, test.at, []byte(test.body))
		if (err == nil) != (test.text == "") || (err != nil && !strings.Contains(err.Error(), test.text)) {
			t.Errorf("%s: %v: want %q", name, err, test.text)
		}
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	bad := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "hooks", Name: "bad"}, Data: map[string][]byte{"key": []byte("sesame-sesame-sesame-sesame"), "tls.crt": []byte("x"), "ca.crt": []byte("y"), "tls.key": []byte("z")}}
	empty := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "hooks", Name: "empty"}}
	secrets := NewSecrets(newCluster(bad, empty), testingclock.NewFakePassiveClock(time.Now()))
	ref := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "hooks", Name: name} }
	for text, e := range map[string]Endpoint{
		"there is no Secret hooks/none":                        {Keys: secrets.Keys(ref("none"))},
		`there is no entry "key" in Secret hooks/empty`:        {Keys: secrets.Keys(ref("empty"))},
		`entry "key" of Secret hooks/bad: want "whsec_"`:       {Keys: secrets.Keys(ref("bad"))},
		`there is no entry "ca.crt" in Secret hooks/empty`:     {CAs: secrets.CAs(ref("empty"))},
		"the CA bundle has no PEM certificate":                 {CAs: secrets.CAs(ref("bad"))},
		`there is no entry "tls.crt" in Secret hooks/empty`:    {ClientCertificate: secrets.ClientCertificate(ref("empty"))},
		"client certificate: tls: failed to find any PEM data": {ClientCertificate: secrets.ClientCertificate(ref("bad"))},
		"out of order": {CAs: func(context.Context) ([]byte, error) { return nil, errors.New("out of order") }},
	} {
		e.URL = "https://127.0.0.1:1/"
		h := handlerOf(t, e, loopback())
		got := run(t, h)
		want(t, got, handler.Waiting, ReasonEndpointMissing, text)
		if strings.Contains(got.Message, "sesame") {
			t.Errorf("the key is quoted: %s", got.Message)
		}
	}
}
