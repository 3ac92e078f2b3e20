package storage

import "testing"

// own is an operator that writes status.issue, status.certs.issue and the condition Issued.
var own = Rules{OwnStatus: [][]string{{"issue"}, {"certs", "issue"}}, OwnConditions: []string{"Issued"}}

func condition(kind string, fields ...string) map[string]any {
	c := map[string]any{"type": kind}
	for i := 0; i < len(fields); i += 2 {
		c[fields[i]] = fields[i+1]
	}
	return c
}

func TestFieldsDigestChangesWithWhatIsWatched(t *testing.T) {
	t.Parallel()
	ready := func(fields ...string) []any { return []any{condition("Ready", fields...)} }
	conditions := func(list []any) func(map[string]any) { return set(list, "status", "conditions") }
	before := ready("status", "True", "reason", "Ready", "message", "up", "lastTransitionTime", "2026-01-01T00:00:00Z")
	unready := conditions(ready("status", "False", "reason", "Ready"))
	reason := conditions(ready("status", "True", "reason", "Renewing"))
	churn := conditions(ready("status", "True", "reason", "Ready", "message", "still up", "lastTransitionTime", "2027-01-01T00:00:00Z"))
	observed := func(object map[string]any) {
		c := condition("Ready", "status", "True", "reason", "Ready")
		c["observedGeneration"] = int64(9)
		conditions([]any{c})(object)
	}
	issued := conditions(append(ready("status", "True", "reason", "Ready"), condition("Issued", "status", "True")))
	foreign := conditions(append(ready("status", "True", "reason", "Ready"), condition("Valid", "status", "True")))

	for _, c := range []struct {
		rule, field string
		change      func(map[string]any)
		changes     bool
	}{
		{"a list counts", "spec.dnsNames", set([]any{"a"}, "spec", "dnsNames"), true},
		{"another field does not", "spec.dnsNames", set("x", "spec", "secretName"), false},
		{"a root counts as a whole", "spec", set("x", "spec", "secretName"), true},
		{"a nested field", "spec.issuerRef.name", set("x", "spec", "issuerRef", "name"), true},
		{"its neighbour", "spec.issuerRef.name", set("x", "spec", "issuerRef", "kind"), false},
		{"a float is an integer", "spec.privateKey.size", set(256.0, "spec", "privateKey", "size"), false},
		{"a field that appears", "spec.isCA", set(false, "spec", "isCA"), true},
		{"null is absent", "spec.isCA", set(nil, "spec", "isCA"), false},
		{"a label", "metadata.labels.team", set("x", "metadata", "labels", "team"), true},
		{"a quoted annotation", "metadata.annotations['example.com/owner']", annotate("example.com/owner"), true},
		{"its neighbour", "metadata.annotations['example.com/owner']", annotate("example.com/x"), false},
		{"noise by its name", "metadata.annotations['argocd.argoproj.io/refresh']", annotate("argocd.argoproj.io/refresh"), true},
		{"state is never watched", "metadata.annotations['dogear.dev/progress']", annotate("dogear.dev/progress"), false},
		{"annotations", "metadata.annotations", annotate("example.com/x"), true},
		{"annotations less noise", "metadata.annotations", annotate("kubectl.kubernetes.io/x"), false},
		{"annotations less state", "metadata.annotations", annotate("dogear.other/state"), false},
		{"metadata: labels", "metadata", set("x", "metadata", "labels", "team"), true},
		{"metadata: annotations", "metadata", annotate("example.com/x"), true},
		{"metadata: deletion", "metadata", set("2026-01-01T00:00:00Z", "metadata", "deletionTimestamp"), true},
		{"metadata: state", "metadata", annotate("dogear.dev/x"), false},
		{"metadata: resourceVersion", "metadata", set("9", "metadata", "resourceVersion"), false},
		{"metadata: generation", "metadata", set(int64(9), "metadata", "generation"), false},
		{"metadata: managedFields", "metadata", set([]any{}, "metadata", "managedFields"), false},
		{"metadata: finalizers", "metadata", set([]any{}, "metadata", "finalizers"), false},
		{"resourceVersion by name", "metadata.resourceVersion", set("9", "metadata", "resourceVersion"), false},
		{"managedFields by name", "metadata.managedFields", set([]any{"x"}, "metadata", "managedFields"), false},
		{"generation by name", "metadata.generation", set(int64(9), "metadata", "generation"), true},

		{"Ready becomes False", "status.conditions", unready, true},
		{"a reason", "status.conditions", reason, true},
		{"a message and a time", "status.conditions", churn, false},
		{"an observed generation", "status.conditions", observed, false},
		{"the own condition", "status.conditions", issued, false},
		{"another condition", "status.conditions", foreign, true},
		{"no conditions", "status.conditions", unset("status", "conditions"), true},
		{"Ready becomes False, below status", "status", unready, true},
		{"a message, below status", "status", churn, false},
		{"the own condition, below status", "status", issued, false},
		{"one condition becomes False", "status.conditions[type=Ready]", unready, true},
		{"one condition's message", "status.conditions[type=Ready]", churn, false},
		{"one condition's observed generation", "status.conditions[type=Ready]", observed, false},
		{"one condition's neighbour", "status.conditions[type=Ready]", foreign, false},
		{"one condition, and it is the own", "status.conditions[type=Issued]", issued, false},
		{"a field of the own condition", "status.conditions[type=Issued].status", issued, false},
		{"one condition's status", "status.conditions[type=Ready].status", unready, true},
		{"one condition's status, by another reason", "status.conditions[type=Ready].status", reason, false},
		{"a message by its name", "status.conditions[type=Ready].message", churn, true},
		{"conditions in spec are the user's", "spec.conditions", set([]any{condition("a", "message", "x")}, "spec", "conditions"), true},

		{"a foreign status field", "status.notAfter", set("x", "status", "notAfter"), true},
		{"a foreign status field, from above", "status", set("x", "status", "notAfter"), true},
		{"own status", "status.issue", set("x", "status", "issue"), false},
		{"own status, from above", "status", set("x", "status", "issue"), false},
		{"own status, from within", "status.issue.serial", set(map[string]any{"serial": "1"}, "status", "issue"), false},
		{"own status, an item of it", "status.issue[name=a].serial", set([]any{map[string]any{"name": "a", "serial": "1"}}, "status", "issue"), false},
		{"a name that starts like the own", "status.issuer", set("x", "status", "issuer"), true},
		{"deep own status", "status.certs.issue", set(map[string]any{"issue": "x"}, "status", "certs"), false},
		{"deep own status, from its parent", "status.certs", set(map[string]any{"issue": "x"}, "status", "certs"), false},
		{"deep own status, from the top", "status", set(map[string]any{"issue": "x"}, "status", "certs"), false},
		{"its neighbour, from its parent", "status.certs", set(map[string]any{"other": "x"}, "status", "certs"), true},
		{"its neighbour, from the top", "status", set(map[string]any{"other": "x"}, "status", "certs"), true},
		{"an empty parent is an absent one", "status", set(map[string]any{}, "status", "certs"), false},
	} {
		t.Run(c.rule+" "+c.field, func(t *testing.T) {
			t.Parallel()
			object := decode(t, certificate)
			conditions(before)(object)
			old := own.FieldsDigest(object, paths(t, c.field))
			c.change(object)
			if got := own.FieldsDigest(object, paths(t, c.field)) != old; got != c.changes {
				t.Errorf("changes: %v, want %v", got, c.changes)
			}
		})
	}
}

func TestFieldsDigestOfNothingIsTheSameForEmptyAndAbsent(t *testing.T) {
	t.Parallel()
	fields := paths(t, "status.conditions", "status.certs", "metadata.annotations", "spec.size", "status")
	want := own.FieldsDigest(map[string]any{}, fields)
	for _, text := range []string{
		`{"status":{}}`, `{"status":{"conditions":[]}}`, `{"status":{"conditions":null}}`, `{"status":null}`,
		`{"status":{"conditions":[{"type":"Issued","status":"True"}]}}`, `{"status":{"issue":{"a":1}}}`,
		`{"status":{"certs":{"issue":1}}}`, `{"metadata":{"annotations":{}}}`,
		`{"metadata":{"annotations":{"dogear.dev/state":"Failed","a":null}}}`, `{"spec":{"size":null}}`,
	} {
		if own.FieldsDigest(decode(t, text), fields) != want {
			t.Errorf("%s differs from an empty object", text)
		}
	}
}

func TestAnItemOfAListCountsAsAWhole(t *testing.T) {
	t.Parallel()
	field := paths(t, "status.certs[name=a]")
	digest := func(text string) string { return own.FieldsDigest(decode(t, text), field) }
	if digest(`{"status":{"certs":[{"name":"a","issue":1}]}}`) == digest(`{"status":{"certs":[{"name":"a","issue":2}]}}`) {
		t.Error("a field with the name of the own one does not count")
	}
}

func TestConditionsOfAnotherShapeCountAsTheyAre(t *testing.T) {
	t.Parallel()
	fields := paths(t, "status.conditions")
	seen := map[string]string{}
	for _, text := range []string{
		`{"status":{"conditions":["a"]}}`, `{"status":{"conditions":["b"]}}`,
		`{"status":{"conditions":[{"kind":"x","m":1}]}}`, `{"status":{"conditions":[{"kind":"x","m":2}]}}`,
		`{"status":{"conditions":{"ready":true}}}`, `{"status":{"conditions":{"ready":false}}}`,
	} {
		digest := own.FieldsDigest(decode(t, text), fields)
		if other, ok := seen[digest]; ok {
			t.Errorf("%s is the same as %s", text, other)
		}
		seen[digest] = text
	}
}

func TestFieldsDigestIsIndependentOfTheOrderOfFieldsAndConditions(t *testing.T) {
	t.Parallel()
	object := decode(t, certificate)
	want := Rules{}.FieldsDigest(object, paths(t, "spec.dnsNames", "status.conditions"))
	if got := (Rules{}).FieldsDigest(object, paths(t, "status.conditions", "spec.dnsNames")); got != want {
		t.Error("the order of fields counts")
	}
	list := object["status"].(map[string]any)["conditions"].([]any)
	list[0], list[1] = list[1], list[0]
	if got := (Rules{}).FieldsDigest(object, paths(t, "spec.dnsNames", "status.conditions")); got != want {
		t.Error("the order of conditions counts")
	}
}

// TestFieldsDigestIsAContractBetweenReleases: see TestDigestIsAContractBetweenReleases.
func TestFieldsDigestIsAContractBetweenReleases(t *testing.T) {
	t.Parallel()
	object := decode(t, certificate)
	for field, essence := range map[string]string{
		"spec.dnsNames":                 `{"spec.dnsNames":["shop.example.com","www.shop.example.com"]}`,
		"status.conditions":             `{"status.conditions":{"Issuing":["False","Issued"],"Ready":["True","Ready"]}}`,
		"status.conditions[type=Ready]": `{"status.conditions[type=Ready]":{"Ready":["True","Ready"]}}`,
		"metadata.annotations":          `{"metadata.annotations":{"example.com/owner":"alice"}}`,
		"status.nothing":                `{}`,
	} {
		if got, want := (Rules{}).FieldsDigest(object, paths(t, field)), DigestOf([]byte(essence)); got != want {
			t.Errorf("digest of %s is %s, want %s, of %s", field, got, want, essence)
		}
	}
	if got := (Rules{}).FieldsDigest(object, nil); got != DigestOf([]byte("{}")) {
		t.Errorf("digest of no fields is %s", got)
	}
	if got := (Rules{}).FieldsDigest(map[string]any{}, []Path{{}}); got == "" {
		t.Error("the zero path has no digest")
	}
}
