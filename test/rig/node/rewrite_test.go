package node

import "testing"

func TestExpandKnowsNamesAndEscapes(t *testing.T) {
	values := map[string]string{"A": "1", "B": "$(A)", "": "never"}
	for text, want := range map[string]string{
		"": "", "plain": "plain", "$(A)": "1", "a$(A)b$(A)": "a1b1",
		"$$(A)": "$(A)", "$$$(A)": "$1", "$$": "$", "$": "$", "$A": "$A", "$(A": "$(A",
		"$(NO)": "$(NO)", "$(B)": "$(A)", "$(NO$(A))": "$(NO1)",
	} {
		if got := expand(text, values); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestRewriteReplacesWholePathsOnce(t *testing.T) {
	m := mounts{{"/tmp", "/tmp/rig/tmp"}, {"/etc/app", "/r/app"}, {"/etc/app/tls", "/r/tls"}, {"/etc/app-tls", "/r/x"}}
	m.sort()
	for text, want := range map[string]string{
		"/etc/app":                   "/r/app",
		"--config=/etc/app/a.yaml":   "--config=/r/app/a.yaml",
		"/etc/app/tls/key":           "/r/tls/key",
		"/etc/app-tls/key":           "/r/x/key",
		"/etc/app-other":             "/etc/app-other",
		"/etc/application":           "/etc/application",
		"/my/etc/app":                "/my/etc/app",
		"https://host/etc/app":       "https://host/etc/app",
		"/tmp:/etc/app,/tmp":         "/tmp/rig/tmp:/r/app,/tmp/rig/tmp",
		`dir: "/etc/app"` + "\n/tmp": `dir: "/r/app"` + "\n/tmp/rig/tmp",
		"/etc/app.":                  "/etc/app.",
		"no path":                    "no path",
	} {
		if got := m.rewrite(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestImagesAreFoundExactlyOrByRepository(t *testing.T) {
	n := &Node{options: Options{Images: map[string]string{"host:5000/a/b": "any", "host:5000/a/b:v1": "v1"}}}
	for image, want := range map[string]string{
		"host:5000/a/b": "any", "host:5000/a/b:v1": "v1", "host:5000/a/b:v2": "any",
		"host:5000/a/b@sha256:1": "any", "host:5000/a/b:v1@sha256:1": "any", "host:5000/a": "", "host": "", "host:5000": "",
	} {
		if got, err := n.program(image); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", image, got, err)
		}
	}
}

func TestAddressesAreNotReusedSoon(t *testing.T) {
	a, err := newAddresses("https://127.0.0.1:20000")
	if err != nil {
		t.Fatal(err)
	}
	last := 0
	for i := range 2 * len(a.used) {
		number, err := a.take()
		if err != nil || number == last || number <= nodeAddress || number > 254 {
			t.Fatalf("take %d is %d, after %d (%v)", i, number, last, err)
		}
		a.give(number)
		last = number
	}
	for range 253 {
		if _, err = a.take(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.take(); err == nil {
		t.Error("there is one more")
	}
	if shown := a.shown(7); shown != "10.206.32.7" || host(shown) != "127.206.32.7" || host("") != "" {
		t.Errorf("shown is %s, host %s", shown, host(shown))
	}
}
