package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/dogear-dev/dogear/controller/handler"
)

// places says where the schema of a kind keeps the payload {"phase": …} of a
// handler with the ID myapp; kinds without a place have it in the annotation.
var places = map[string][]string{
	"Phased": {"myapp"}, "Widget": {"myapp"}, "Bare": {"myapp"}, "Frozen": {"myapp"},
	"Nested": {"dogear", "myapp"},
}

// The errors of a handler whose work is three calls away.
func provision(state string) error { return fmt.Errorf("provision: %w", order(state)) }

func order(state string) error { return fmt.Errorf("order: %w", ask(state)) }

func ask(state string) error {
	if state == "broken" {
		return handler.Permanent("the issuer refuses", handler.Status(fields{"phase": "Broken"}))
	}
	return handler.Temporary("the issuer is not ready", handler.After(soon), handler.Status(fields{"phase": "Pending"}))
}

// The payload of an error is readable as soon as the attempt has ended, with
// kubectl where the schema has a place for it, and is never lost where it has
// none; that of a permanent error also after the end.
func TestStatusOfAnErrorIsReadableOnEveryKind(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			path := places[k.name]
			var issuer gate
			spec := b.spec(k.kind, "myapp", handler.Create|handler.Update)
			if k.name == "Nested" {
				spec.Status.Path = "dogear.myapp"
			}
			broken := b.object(k.kind, "broken", k.body)
			b.start(one(spec, func(_ context.Context, req *request) (handler.Result, error) {
				switch {
				case req.Object.GetName() == broken.GetName():
					return handler.Result{}, provision("broken")
				case issuer.closed():
					return handler.Result{}, provision("pending")
				}
				return handler.Result{Status: fields{"phase": "Starting"}}, nil
			}))
			shows := func(u *unstructured.Unstructured, phase string) error {
				u, want := b.get(u), fields{"phase": phase}
				status, annotation := any(nil), b.annotated(u, "myapp")
				if path != nil {
					status = inStatus(u, path...)
				}
				if path != nil && same(status, want) && annotation == nil || path == nil && same(annotation, want) {
					return nil
				}
				return fmt.Errorf("want %s, have %v in status, %v in the annotation", phase, u.Object["status"], annotation)
			}
			u := b.create(b.object(k.kind, "one", k.body))
			b.create(broken)
			b.await(u, "Retrying")
			b.eventually(func() error { return shows(u, "Pending") })
			if k.name == "Phased" {
				b.column(u, "Phase", "Pending")
			}
			issuer.open.Store(true)
			b.await(u, "Succeeded")
			if err := shows(u, "Starting"); err != nil {
				t.Error(err)
			}
			if k.name == "Phased" {
				b.column(u, "Phase", "Starting")
			}
			b.await(broken, "Failed")
			if err := shows(broken, "Broken"); err != nil {
				t.Error(err)
			}
		})
	}
}

// column checks what kubectl get would print.
func (b *bench) column(u *unstructured.Unstructured, name, want string) {
	b.Helper()
	transport, err := rest.HTTPClientFor(b.cp.AdminConfig())
	if err != nil {
		b.Fatal(err)
	}
	url := fmt.Sprintf("%s/apis/test.dogear.dev/v1/namespaces/%s/phaseds/%s", b.cp.URL(), u.GetNamespace(), u.GetName())
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	reply, err := transport.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		b.Fatal(err)
	}
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil || len(table.Rows) != 1 {
		b.Fatalf("the table is %s: %v", text, err)
	}
	for i, c := range table.ColumnDefinitions {
		if c.Name == name && table.Rows[0].Cells[i] == want {
			return
		}
	}
	b.Errorf("no column %s with %q: %s", name, want, text)
}
