package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

const twoClusters = `{"clusters": [{"name": "a", "cluster": {"server": "https://a.example:6443"}}, {"name": "b", "cluster": {"server": "https://b.example:6443"}}],
	"users": [{"name": "u", "user": {"token": "t"}}],
	"contexts": [{"name": "a", "context": {"cluster": "a", "user": "u"}}, {"name": "b", "context": {"cluster": "b", "user": "u"}}], "current-context": "a"}`

func TestClusterOfTheFlags(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(twoClusters), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, variable string
		args           []string
		host, failure  string
	}{
		{name: "flag", args: []string{"--kubeconfig=" + file}, host: "https://a.example:6443"},
		{name: "context", args: []string{"--kubeconfig=" + file, "--context=b"}, host: "https://b.example:6443"},
		{name: "environment", variable: file, host: "https://a.example:6443"},
		{name: "flag before environment", variable: "/no/such/file", args: []string{"--kubeconfig=" + file}, host: "https://a.example:6443"},
		{name: "no such file", args: []string{"--kubeconfig=/no/such/file"}, failure: "read the kubeconfig: stat /no/such/file: no such file"},
		{name: "no such context", args: []string{"--kubeconfig=" + file, "--context=c"}, failure: `context "c" does not exist`},
		{name: "nothing", variable: "/no/such/file", failure: "no cluster is known: set --kubeconfig or KUBECONFIG"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", c.variable)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			config, err := parseCluster(t, c.args...).config()
			switch {
			case c.failure != "":
				if err == nil || !strings.Contains(err.Error(), c.failure) {
					t.Errorf("got %v, want %q", err, c.failure)
				}
			case err != nil:
				t.Fatal(err)
			case config.Host != c.host || config.QPS != -1:
				t.Errorf("got %s, %v, want %s without a limit", config.Host, config.QPS, c.host)
			}
		})
	}
}

func TestActingAsSomebodyElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(twoClusters), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "system:serviceaccount:dogear:dogear-uninstall"} {
		config, err := parseCluster(t, "--kubeconfig="+file, "--as="+want).config()
		if err != nil || config.Impersonate.UserName != want {
			t.Errorf("got %v, %v", config, err)
		}
	}
}

func TestNamespaceOfTheFlags(t *testing.T) {
	t.Setenv(namespaceVariable, "of-the-pod")
	if c := parseCluster(t); c.namespace != "of-the-pod" {
		t.Errorf("got %q", c.namespace)
	}
	if c := parseCluster(t, "-n", "given"); c.namespace != "given" {
		t.Errorf("got %q", c.namespace)
	}
	cmd := &cobra.Command{}
	addCluster(cmd)
	if usage := cmd.Flags().FlagUsages(); strings.Contains(usage, "of-the-pod") {
		t.Errorf("the help depends on the environment: %s", usage)
	}
	t.Setenv(namespaceVariable, "")
	if c := parseCluster(t); c.namespace != "" {
		t.Errorf("got %q", c.namespace)
	}
}

func TestContextsAreCompleted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(twoClusters), 0o600); err != nil {
		t.Fatal(err)
	}
	if have, _ := parseCluster(t, "--kubeconfig="+file).contexts(nil, nil, ""); !slices.Equal(have, []string{"a", "b"}) {
		t.Errorf("got %v", have)
	}
}

func parseCluster(t *testing.T, args ...string) *cluster {
	t.Helper()
	cmd := &cobra.Command{}
	c := addCluster(cmd)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	return c
}
