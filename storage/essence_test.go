package storage

import (
	"strings"
	"testing"
)

// variant changes a certificate. The rule that it breaks or keeps is its name.
type variant struct {
	name   string
	change func(object map[string]any)
}

func set(value any, at ...string) func(map[string]any) {
	return func(object map[string]any) {
		for _, name := range at[:len(at)-1] {
			object = object[name].(map[string]any)
		}
		object[at[len(at)-1]] = value
	}
}

func unset(at ...string) func(map[string]any) {
	return func(object map[string]any) {
		for _, name := range at[:len(at)-1] {
			object = object[name].(map[string]any)
		}
		delete(object, at[len(at)-1])
	}
}

func annotate(key string) func(map[string]any) {
	return set("x", "metadata", "annotations", key)
}

func TestDigestIgnores(t *testing.T) {
	t.Parallel()
	want := Rules{}.Digest(decode(t, certificate))
	for _, v := range []variant{
		{"status", set(map[string]any{"x": int64(1)}, "status")},
		{"absent status", unset("status")},
		{"resourceVersion", set("9", "metadata", "resourceVersion")},
		{"generation", set(int64(99), "metadata", "generation")},
		{"uid", unset("metadata", "uid")},
		{"name", set("other", "metadata", "name")},
		{"finalizers", unset("metadata", "finalizers")},
		{"ownerReferences", set([]any{map[string]any{"uid": "u"}}, "metadata", "ownerReferences")},
		{"deletionTimestamp", set("2026-03-01T10:00:03Z", "metadata", "deletionTimestamp")},
		{"managedFields", unset("metadata", "managedFields")},
		{"apiVersion", set("cert-manager.io/v2", "apiVersion")},
		{"kind", unset("kind")},
		{"own state", annotate("dogear.dev/handled")},
		{"state of another operator", annotate("dogear.certs.example.com/progress")},
		{"kubectl", annotate("kubectl.kubernetes.io/anything")},
		{"kopf", annotate("kopf.zalando.org/last-handled-configuration")},
		{"kopf with a domain", annotate("certs.kopf.dev/create")},
		{"deployment controller", annotate("deployment.kubernetes.io/revision")},
		{"volume binder", annotate("pv.kubernetes.io/bind-completed")},
		{"a null annotation", set(nil, "metadata", "annotations", "a")},
		{"a null label", set(nil, "metadata", "labels", "a")},
		{"a null field", set(nil, "spec", "keystores")},
		{"a null root", set(nil, "data")},
		{"a float for an integer", set(float64(256), "spec", "privateKey", "size")},
		{"an int for an int64", set(int(256), "spec", "privateKey", "size")},
	} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			object := decode(t, certificate)
			v.change(object)
			if got := (Rules{}).Digest(object); got != want {
				t.Errorf("digest changed; essence is now\n%s", Rules{}.Essence(object))
			}
		})
	}
}

func TestDigestSees(t *testing.T) {
	t.Parallel()
	seen := map[string]string{Rules{}.Digest(decode(t, certificate)): "original"}
	for _, v := range []variant{
		{"a changed field", set("x", "spec", "secretName")},
		{"a removed field", unset("spec", "duration")},
		{"the order of a list", set([]any{"www.shop.example.com", "shop.example.com"}, "spec", "dnsNames")},
		{"a fraction", set(256.5, "spec", "privateKey", "size")},
		{"a string for a number", set("256", "spec", "privateKey", "size")},
		{"an empty object", set(map[string]any{}, "spec", "keystores")},
		{"an empty list", set([]any{}, "spec", "keystores")},
		{"false", set(false, "spec", "isCA")},
		{"a root", set(map[string]any{"a": "b"}, "data")},
		{"a label", set("x", "metadata", "labels", "team")},
		{"no labels", unset("metadata", "labels")},
		{"a user's annotation", annotate("example.com/owner")},
		{"a new annotation", annotate("example.com/note")},
		{"an annotation without prefix", annotate("note")},
		{"a prefix that only looks like Dogear's", annotate("dogears.dev/state")},
	} {
		object := decode(t, certificate)
		v.change(object)
		digest := Rules{}.Digest(object)
		if other, ok := seen[digest]; ok {
			t.Errorf("%s has the digest of %s", v.name, other)
		}
		seen[digest] = v.name
	}
}

func TestAnnotationsOfAKopfOperatorWithItsOwnPrefixAreNoise(t *testing.T) {
	t.Parallel()
	plain := decode(t, certificate)
	kopf := decode(t, certificate)
	annotate("certs.example.org/kopf-managed")(kopf)
	annotate("certs.example.org/create")(kopf)
	if (Rules{}).Digest(plain) != (Rules{}).Digest(kopf) {
		t.Error("they count")
	}
}

func TestIgnoreNamesKeysAndPrefixes(t *testing.T) {
	t.Parallel()
	rules := Rules{Ignore: []string{"example.com/owner", "noise.example.com/*"}}
	object := decode(t, certificate)
	want := rules.Digest(object)
	annotate("example.com/owner")(object)
	annotate("noise.example.com/a")(object)
	if rules.Digest(object) != want {
		t.Error("an ignored annotation counts")
	}
	annotate("example.com/owner2")(object)
	if rules.Digest(object) == want {
		t.Error("another annotation does not count")
	}
}

func TestAnObjectWithoutAnythingHasTheEmptyEssence(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `{"metadata":{}}`, `{"metadata":null}`, `{"metadata":{"labels":{},"annotations":{}}}`,
		`{"metadata":{"labels":{"a":null},"annotations":{"a":null}}}`, `{"status":{"a":1},"apiVersion":"v1","kind":"K"}`,
		`{"metadata":{"annotations":{"dogear.dev/state":"Failed"}}}`, `{"metadata":"odd"}`,
	} {
		if got := string(Rules{}.Essence(decode(t, text))); got != "{}" {
			t.Errorf("essence of %s is %s", text, got)
		}
	}
}

func TestADigestIsShortAndSafeInJSONAndURLs(t *testing.T) {
	t.Parallel()
	got := Rules{}.Digest(decode(t, certificate))
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if len(got) != 22 || strings.Trim(got, alphabet) != "" {
		t.Errorf("digest is %q", got)
	}
}
