package handler_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/dogear-dev/dogear/controller/handler"
)

func TestMergePatch(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  func(p *handler.Patch) error
		want string // JSON; empty: none
	}{
		"nothing":              {func(*handler.Patch) error { return nil }, ``},
		"a label":              {func(p *handler.Patch) error { p.SetLabel("app", "web"); return nil }, `{"metadata":{"labels":{"app":"web"}}}`},
		"a label goes":         {func(p *handler.Patch) error { p.RemoveLabel("app"); return nil }, `{"metadata":{"labels":{"app":null}}}`},
		"an annotation":        {func(p *handler.Patch) error { p.SetAnnotation("example.com/Size", "1"); return nil }, `{"metadata":{"annotations":{"example.com/Size":"1"}}}`},
		"an annotation goes":   {func(p *handler.Patch) error { p.RemoveAnnotation("a"); return nil }, `{"metadata":{"annotations":{"a":null}}}`},
		"empty is not removed": {func(p *handler.Patch) error { p.SetLabel("app", ""); return nil }, `{"metadata":{"labels":{"app":""}}}`},
		"the last word counts": {func(p *handler.Patch) error {
			p.SetLabel("a", "1")
			p.RemoveLabel("a")
			p.SetLabel("a", "2")
			return nil
		}, `{"metadata":{"labels":{"a":"2"}}}`},
		"a field of spec":     {func(p *handler.Patch) error { return p.SetSpec("90d", "duration") }, `{"spec":{"duration":"90d"}}`},
		"a field deeper":      {func(p *handler.Patch) error { return p.SetSpec(3, "a", "b", "c.d") }, `{"spec":{"a":{"b":{"c.d":3}}}}`},
		"a list":              {func(p *handler.Patch) error { return p.SetSpec([]string{"a", "b"}, "dnsNames") }, `{"spec":{"dnsNames":["a","b"]}}`},
		"a typed value":       {func(p *handler.Patch) error { return p.SetSpec(struct{ Name string }{"ca"}, "issuerRef") }, `{"spec":{"issuerRef":{"Name":"ca"}}}`},
		"a field goes":        {func(p *handler.Patch) error { return p.RemoveSpec("a", "b") }, `{"spec":{"a":{"b":null}}}`},
		"nil removes":         {func(p *handler.Patch) error { return p.SetSpec(nil, "a") }, `{"spec":{"a":null}}`},
		"a kind without spec": {func(p *handler.Patch) error { return p.SetField("v", "data", "k") }, `{"data":{"k":"v"}}`},
		"a top-level field":   {func(p *handler.Patch) error { return p.SetField(true, "immutable") }, `{"immutable":true}`},
		"two fields, one map": {func(p *handler.Patch) error {
			return anyOf(p.SetSpec(1, "a", "b"), p.SetSpec(2, "a", "c"), p.RemoveSpec("d"))
		}, `{"spec":{"a":{"b":1,"c":2},"d":null}}`},
		"a map over a scalar": {func(p *handler.Patch) error { return anyOf(p.SetSpec(1, "a"), p.SetSpec(2, "a", "b")) }, `{"spec":{"a":{"b":2}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p handler.Patch
			if err := test.set(&p); err != nil {
				t.Fatal(err)
			}
			got, err := p.MergePatch()
			if err != nil {
				t.Fatal(err)
			}
			if p.IsEmpty() != (test.want == "") {
				t.Errorf("IsEmpty is %v", p.IsEmpty())
			}
			if text, _ := json.Marshal(got); got != nil && string(text) != test.want || got == nil && test.want != "" {
				t.Errorf("got  %s\nwant %s", text, test.want)
			}
		})
	}
}

func anyOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestPatchRefusesFieldsThatAreNotItsOwn(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(p *handler.Patch) error{
		"metadata":           func(p *handler.Patch) error { return p.SetField("x", "metadata", "name") },
		"status":             func(p *handler.Patch) error { return p.SetField("x", "status", "phase") },
		"kind":               func(p *handler.Patch) error { return p.SetField("x", "kind") },
		"apiVersion":         func(p *handler.Patch) error { return p.SetField("x", "apiVersion") },
		"spec as a whole":    func(p *handler.Patch) error { return p.SetSpec(object{}) },
		"the same, by field": func(p *handler.Patch) error { return p.SetField(object{}, "spec") },
		"removal of spec":    func(p *handler.Patch) error { return p.RemoveSpec() },
		"no path":            func(p *handler.Patch) error { return p.SetField("x") },
		"no JSON":            func(p *handler.Patch) error { return p.SetSpec(make(chan int), "a") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p handler.Patch
			if err := set(&p); err == nil || !p.IsEmpty() {
				t.Errorf("got error %v, empty %v: want an error and nothing set", err, p.IsEmpty())
			}
		})
	}
}

func TestMergePatchRefusesWhatMustNotBeWritten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  func(p *handler.Patch)
		want string
	}{
		"the service's state":        {func(p *handler.Patch) { p.SetAnnotation("dogear.dev/handled", "{}") }, `annotation "dogear.dev/handled" is Dogear's own`},
		"an operator's state":        {func(p *handler.Patch) { p.SetAnnotation("dogear.certs.example.com/state", "x") }, "is Dogear's own"},
		"its removal":                {func(p *handler.Patch) { p.RemoveAnnotation("dogear.dev/progress") }, "is Dogear's own"},
		"pausing":                    {func(p *handler.Patch) { p.SetAnnotation("dogear.dev/paused", "true") }, "is Dogear's own"},
		"a label that is no value":   {func(p *handler.Patch) { p.SetLabel("app", "a b") }, `label "app": a valid label must`},
		"a label that is no key":     {func(p *handler.Patch) { p.SetLabel("a b", "x") }, `label "a b": name part must`},
		"an annotation that is none": {func(p *handler.Patch) { p.SetAnnotation("a/b/c", "x") }, `annotation "a/b/c"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p handler.Patch
			p.SetLabel("fine", "x")
			test.set(&p)
			merge, err := p.MergePatch()
			if err == nil || merge != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v: want an error with %q", merge, err, test.want)
			}
		})
	}
}

func TestAnnotationsLikeDogearsAreOthersOwn(t *testing.T) {
	t.Parallel()
	var p handler.Patch
	for _, key := range []string{"dogears.dev/x", "my.dogear.dev/x", "dogear.x", "dogear"} {
		p.SetAnnotation(key, "x")
	}
	if _, err := p.MergePatch(); err != nil {
		t.Error(err)
	}
}

func TestANilPatchIsEmpty(t *testing.T) {
	t.Parallel()
	var p *handler.Patch
	if merge, err := p.MergePatch(); !p.IsEmpty() || merge != nil || err != nil {
		t.Errorf("got %v, %v", merge, err)
	}
}

func TestAPatchKeepsACopyOfTheValue(t *testing.T) {
	t.Parallel()
	var p handler.Patch
	names := []string{"a"}
	if err := p.SetSpec(names, "dnsNames"); err != nil {
		t.Fatal(err)
	}
	names[0] = "changed"
	if merge, _ := p.MergePatch(); !reflect.DeepEqual(merge, object{"spec": object{"dnsNames": []any{"a"}}}) {
		t.Errorf("got %v", merge)
	}
}
