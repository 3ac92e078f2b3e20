package uninstall

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestTextOfAResult(t *testing.T) {
	r := &Result{
		Namespace: "dogear", DryRun: true,
		Resources: []Resource{
			{Resource: "certificates.cert-manager.io", Objects: 1200, Released: 1000, Cleaned: 1100, Left: 2},
			{Resource: "services", Objects: 7},
		},
		Unfinished: Unfinished{Total: 22, Objects: []Object{{"services", "shop", "web"}}},
		Left: []Left{
			{Object{"certificates.cert-manager.io", "shop", "a"}, "refused"},
			{Object{"certificates.cert-manager.io", "shop", "b"}, "refused"},
			{Object{Resource: "things.example.com"}, "not answered"},
			{Object{Resource: "things.example.com", Namespace: "shop"}, "not listed"},
		},
		Notes: []string{"All is well"},
	}
	const want = `RESOURCE                      OBJECTS  RELEASED  CLEANED  LEFT
certificates.cert-manager.io  1200     1000      1100     2
1 resource without anything to take off

Not finished: 22 objects were in deletion, but the Delete handlers had not succeeded. What they clean up is left over:
    services shop/web
    and 21 more

Left, 4:
  certificates.cert-manager.io: refused
    certificates.cert-manager.io shop/a
    certificates.cert-manager.io shop/b
  things.example.com: not answered
  things.example.com: not listed
    things.example.com shop/

Note: All is well.

Nothing was changed: this is a dry run.
`
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || b.String() != want {
		t.Errorf("%v: got\n%s", err, b.String())
	}
	b.Reset()
	if err := (&Result{Done: true}).WriteText(&b); err != nil || b.String() != "Done: nothing in the cluster waits for Dogear any more. Its CRDs and the sets, if there are any, stay.\n" {
		t.Errorf("%v: got\n%s", err, b.String())
	}
	b.Reset()
	if err := (&Result{Done: true, Namespaces: []string{"bank", "shop"}}).WriteText(&b); err != nil || b.String() != "Done: nothing in the namespaces bank, shop waits for Dogear any more. Its CRDs and the sets, if there are any, stay.\n" {
		t.Errorf("%v: got\n%s", err, b.String())
	}
	for i := range 150 {
		r.Left = append(r.Left, Left{Object{"services", "shop", fmt.Sprint(i)}, "refused"})
	}
	b.Reset()
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "services shop/99\n    and 50 more\n") {
		t.Errorf("%v: got\n%s", err, b.String())
	}
}

// What others have written cannot play with the terminal of whoever reads it.
func TestTextsOfOthers(t *testing.T) {
	const evil = "no\x1b[2J\r\nDone: all is well"
	r := &Result{Left: []Left{{Object{"roles", "shop", "a\x1b[1m"}, evil}}, Notes: []string{evil}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{b.String(), Event{Text: evil}.String()} {
		if strings.ContainsAny(text, "\x1b\r") || strings.Contains(text, "\nDone") {
			t.Errorf("got %q", text)
		}
	}
}

// Scripts go through lists, so each is there.
func TestListsOfNothing(t *testing.T) {
	r := &Result{}
	r.listed()
	text, err := json.Marshal(r)
	if err != nil || strings.Contains(string(text), "null") || !strings.Contains(string(text), `"objects":[]`) {
		t.Errorf("%v: got %s", err, text)
	}
}

func TestEventsInWords(t *testing.T) {
	if have := (Event{Resource: "services", Released: 3, Seen: 500, Total: 1200}).String(); have != "services: 3 released, 500 of 1200 looked at" {
		t.Errorf("got %q", have)
	}
	if have := (Event{Text: "Done"}).String(); have != "Done" {
		t.Errorf("got %q", have)
	}
}
