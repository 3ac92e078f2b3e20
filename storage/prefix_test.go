package storage

import (
	"strings"
	"testing"
)

func TestPrefixOfADomain(t *testing.T) {
	t.Parallel()
	p, err := PrefixFor("certs.example.com")
	if err != nil || p.Key(KeyState) != "dogear.certs.example.com/state" || p.Finalizer() != "dogear.certs.example.com/finalizer" {
		t.Errorf("%s, %v", p, err)
	}
	for domain, reason := range map[string]string{
		"": "domain is empty", "Certs.example.com": "no DNS name", "a b": "no DNS name", "a..b": "no DNS name",
		"example.com/x": "no DNS name", strings.Repeat("a", 250): "no DNS name",
	} {
		if p, err := PrefixFor(domain); err == nil || !strings.Contains(err.Error(), reason) || p != "" {
			t.Errorf("%q gives %q, %v", domain, p, err)
		}
	}
}

func TestWhoseAnnotationsTheyAre(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]struct{ owned, state bool }{
		"dogear.dev/state":       {true, true},
		"dogear.dev/":            {true, true},
		"dogear.dev":             {false, false},
		"dogear.devx/state":      {false, true},
		"dogear.certs.dev/state": {false, true},
		"dogear/state":           {false, false},
		"dogears.dev/state":      {false, false},
		"x.dogear.dev/state":     {false, false},
		"":                       {false, false},
	} {
		if ServicePrefix.Owns(key) != want.owned || IsState(key) != want.state {
			t.Errorf("%q: owned %v, state %v", key, ServicePrefix.Owns(key), IsState(key))
		}
	}
}
