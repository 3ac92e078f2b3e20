package remote

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
)

// document is JSON or YAML from docs.
func document(t testing.TB, name string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := yaml.UnmarshalStrict(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// schemaOf compiles a definition of docs/protocol.schema.json; "" is its root.
func schemaOf(t testing.TB, definition string) *jsonschema.Schema {
	t.Helper()
	const at = "protocol.schema.json"
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	d := document(t, at)
	delete(d, "$id")
	if err := c.AddResource(at, d); err != nil {
		t.Fatal(err)
	}
	fragment := ""
	if definition != "" {
		fragment = "#/$defs/" + definition
	}
	schema, err := c.Compile(at + fragment)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// matches tells why JSON is not as a schema says.
func matches(schema *jsonschema.Schema, text string) error {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// TestTheSchemaHasTheMembersOfTheTypes: each, required where it is always
// there, and no other.
func TestTheSchemaHasTheMembersOfTheTypes(t *testing.T) {
	t.Parallel()
	defs := document(t, "protocol.schema.json")["$defs"].(map[string]any)
	for name, of := range map[string]any{
		"Request": v1alpha1.HandlerReviewRequest{}, "Handler": v1alpha1.HandlerReviewHandler{}, "Change": v1alpha1.HandlerReviewChange{},
		"Callback": v1alpha1.HandlerReviewCallback{}, "Response": v1alpha1.HandlerReviewResponse{}, "Patch": v1alpha1.HandlerReviewPatch{},
		"Resource": metav1.GroupVersionResource{}, "Kind": metav1.GroupVersionKind{}, "Reply": Reply{},
	} {
		var all, required []string
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			tag, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			all = append(all, tag)
			if !strings.Contains(options, "omitempty") {
				required = append(required, tag)
			}
		}
		def := defs[name].(map[string]any)
		var got, gotRequired []string
		for member := range def["properties"].(map[string]any) {
			got = append(got, member)
		}
		if list, ok := def["required"].([]any); ok {
			for _, member := range list {
				gotRequired = append(gotRequired, member.(string))
			}
		}
		for _, names := range [][]string{all, required, got, gotRequired} {
			sort.Strings(names)
		}
		if diff := cmp.Diff(all, got); diff != "" {
			t.Errorf("%s: type (-), schema (+):\n%s", name, diff)
		}
		if diff := cmp.Diff(required, gotRequired); diff != "" {
			t.Errorf("%s, required: type (-), schema (+):\n%s", name, diff)
		}
	}
}

func TestWhatIsSentIsAsTheSchemaSays(t *testing.T) {
	t.Parallel()
	text := readDocs(t)
	root, requests, responses := schemaOf(t, ""), schemaOf(t, "RequestReview"), schemaOf(t, "ResponseReview")
	valid := func(what, text string, schemas ...*jsonschema.Schema) {
		for _, schema := range schemas {
			if err := matches(schema, text); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	for _, e := range examples {
		valid("request "+e.name, block(t, text, "request "+e.name), root, requests)
		valid("answer "+e.name, block(t, text, "answer "+e.name), root, responses)
	}
	valid("callback", block(t, text, "callback"), root, responses)

	body, _, err := examples[2].handler(t).review(t.Context(), secretRequest(), "uid-1")
	if err != nil {
		t.Fatal(err)
	}
	valid("a request about a Secret", string(body), root, requests)
	reply, err := json.Marshal(replyOf(ErrUsed))
	if err != nil {
		t.Fatal(err)
	}
	valid("a reply", string(reply), schemaOf(t, "Reply"))
}

// TestTheSchemaRefusesWhatDogearRefuses, as far as a schema can.
func TestTheSchemaRefusesWhatDogearRefuses(t *testing.T) {
	t.Parallel()
	responses := schemaOf(t, "ResponseReview")
	beyond := []string{"wrong uid", "a member twice", "twice in the payload", "twice in the patch", "a number too great"}
	for name, bad := range badAnswers {
		refused := matches(responses, strings.ReplaceAll(bad.body, "UID", "uid-1")) != nil
		if refused == slices.Contains(beyond, name) {
			t.Errorf("%s: refused is %v", name, refused)
		}
	}
	for _, field := range []string{"status", "metadata", "spec", "kind", "apiVersion"} {
		if matches(responses, callback("uid-1", `"outcome":"Succeeded","patch":{"fields":{"`+field+`":{}}}`)) == nil {
			t.Errorf("a patch of %s is allowed", field)
		}
	}
}

// TestWhatTheSchemaAllowsIsTaken: members that are null or empty, too.
func TestWhatTheSchemaAllowsIsTaken(t *testing.T) {
	t.Parallel()
	responses := schemaOf(t, "ResponseReview")
	for _, rest := range []string{
		`"outcome":"Waiting","after":null`, `"outcome":"Waiting","after":"1.5h20ms"`, `"outcome":"Retrying","after":"99999h"`,
		`"outcome":"Failed","reason":"","message":""`, `"outcome":"Succeeded","status":null,"patch":null`, `"outcome":"Succeeded","status":[1,"a",null]`,
		`"outcome":"Succeeded","patch":{"labels":null,"annotations":{},"spec":null,"fields":{"data":null}}`,
	} {
		text := callback("uid-1", rest)
		if err := matches(responses, text); err != nil {
			t.Errorf("%s: %v", rest, err)
		}
		if _, err := decode([]byte(text), "uid-1"); err != nil {
			t.Errorf("%s: allowed, but not taken: %v", rest, err)
		}
	}
}

// TestTheOpenAPIDocumentFits: what it refers to is there, and it has the
// statuses and headers that there are.
func TestTheOpenAPIDocumentFits(t *testing.T) {
	t.Parallel()
	api := document(t, "protocol.openapi.yaml")
	documents := map[string]map[string]any{"": api, "protocol.schema.json": document(t, "protocol.schema.json")}
	references(api, func(ref string) {
		file, pointer, _ := strings.Cut(ref, "#")
		var at any = documents[file]
		for _, name := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
			m, _ := at.(map[string]any)
			at = m[name]
		}
		if at == nil {
			t.Errorf("%s leads nowhere", ref)
		}
	})
	post := api["paths"].(map[string]any)["/callback/{token}"].(map[string]any)["post"].(map[string]any)
	var want, got []string
	for _, code := range allReplies {
		if !slices.Contains(want, code) {
			want = append(want, code)
		}
	}
	for code := range post["responses"].(map[string]any) {
		got = append(got, code)
	}
	sort.Strings(want)
	sort.Strings(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	if v := api["info"].(map[string]any)["version"]; v != v1alpha1.GroupVersion.Version {
		t.Errorf("the version is %v", v)
	}
}

// references calls f with each $ref.
func references(v any, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == "$ref" {
				f(fmt.Sprint(value))
			}
			references(value, f)
		}
	case []any:
		for _, item := range v {
			references(item, f)
		}
	}
}
