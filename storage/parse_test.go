package storage

import (
	"slices"
	"strings"
	"testing"
)

func TestPathsReadAndGet(t *testing.T) {
	t.Parallel()
	object := decode(t, `{"spec":{"a":{"b":1},"a.b":2,"list":[{"name":"x","n":1,"on":true},{"name":"y","n":2.5},"z",{"name":null}],
		"m":{"it's":3,"c]d":4},"null":null},"metadata":{"annotations":{"example.com/size":"5"}}}`)
	for _, c := range []struct {
		text string
		want any // nil: there is nothing
	}{
		{"spec.a.b", int64(1)},
		{".spec.a.b", int64(1)},
		{"['spec']['a']['b']", int64(1)},
		{"spec['a'].b", int64(1)},
		{`spec["a.b"]`, int64(2)},
		{"spec['a.b']", int64(2)},
		{`spec.m["it's"]`, int64(3)},
		{"spec.m['c]d']", int64(4)},
		{"metadata.annotations['example.com/size']", "5"},
		{"spec.list[name=x].n", int64(1)},
		{"spec.list[name='y'].n", 2.5},
		{`spec.list[name="y"]['n']`, 2.5},
		{"spec.list[n=1].name", "x"},
		{"spec.list[n=2.5].name", "y"},
		{"spec.list[on=true].name", "x"},
		{"spec.list[name=w].n", nil},
		{"spec.list[name=].n", nil},
		{"spec.list[name=<nil>]", nil},
		{"spec.list[none=<nil>]", nil},
		{"spec.list.name", nil},
		{"spec.a[name=x]", nil},
		{"spec.a.b.c", nil},
		{"spec.null", nil},
		{"status.conditions", nil},
	} {
		p, err := ParsePath(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got, ok := p.Get(object); got != c.want || ok != (c.want != nil) {
			t.Errorf("%s is %v, %v; want %v", c.text, got, ok, c.want)
		}
		if p.String() != c.text {
			t.Errorf("%s prints as %s", c.text, p)
		}
	}
}

func TestPathsTellTheirNames(t *testing.T) {
	t.Parallel()
	p := path(t, "status.conditions[type=Ready].status")
	if _, ok := p.Names(); ok || p.Root() != "status" || !slices.Equal(p.leading(), []string{"status", "conditions"}) {
		t.Errorf("root %s, leading %v, plain %v", p.Root(), p.leading(), ok)
	}
	names, ok := path(t, "spec['a.b'].c").Names()
	if !ok || !slices.Equal(names, []string{"spec", "a.b", "c"}) {
		t.Errorf("names are %q, %v", names, ok)
	}
	if (Path{}).Root() != "" {
		t.Error("the zero path has a root")
	}
}

func TestBadPathsAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	for text, reason := range map[string]string{
		"":                          "is empty",
		".":                         "is empty",
		"..":                        "an empty name",
		"spec.":                     "a dot with no name",
		"spec..a":                   "an empty name",
		"spec.['a']":                "a dot with no name",
		"spec[0]":                   "neither ['name'] nor [key=value]",
		"spec[*].name":              "neither ['name'] nor [key=value]",
		"spec[]":                    "neither ['name'] nor [key=value]",
		"spec[=a]":                  "neither ['name'] nor [key=value]",
		"spec[name=a":               "neither ['name'] nor [key=value]",
		"spec[":                     "neither ['name'] nor [key=value]",
		"spec['":                    "no name and closing ']",
		"spec['']":                  "no name and closing ']",
		"spec['a]":                  "no name and closing ']",
		`spec["a']`:                 `no name and closing "]`,
		"spec[name='a]":             "no closing '",
		"spec[name=']":              "no closing '",
		"spec['a']b":                "cannot follow a bracket",
		"spec[name=a]b":             "cannot follow a bracket",
		"spec['a'].":                "a dot with no name",
		"[name=a].b":                "starts with a list item",
		"spec.*":                    "no plain name",
		"spec.a ":                   "no plain name",
		" spec":                     "no plain name",
		"spec.a]":                   "no plain name",
		"spec.'a'":                  "no plain name",
		"spec.a=b":                  "no plain name",
		"metadata.labels.x.io/name": "quote it",
	} {
		p, err := ParsePath(text)
		if err == nil || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "field path") {
			t.Errorf("%q gives %v, want %q", text, err, reason)
		}
		if p.Root() != "" {
			t.Errorf("%q gives the path %v with an error", text, p)
		}
	}
}
