package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
)

// The commands that the help and the documentation show can be run: their
// settings are taken.
func TestCommandsOfHelpAndDocumentation(t *testing.T) {
	texts := map[string]string{}
	for _, page := range []string{"README.md", "docs/service.md", "docs/recipes.md", "docs/endpoints.md", "docs/security.md", "examples/endpoints/README.md"} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		texts[page] = string(text)
	}
	root := newRoot(os.Stdout, os.Stderr, demo.Options{})
	for _, cmd := range append([]*cobra.Command{root}, root.Commands()...) {
		texts[cmd.CommandPath()+" --help"] = cmd.Example
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "dogear.yaml"), []byte("workers: 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	for _, least := range []string{"dogear run --help", "dogear --help", "docs/service.md"} {
		if len(runCommands(texts[least])) == 0 {
			t.Errorf("%s shows no command", least)
		}
	}
	for where, text := range texts {
		for _, command := range runCommands(text) {
			t.Run(where+": "+strings.Join(command, " "), func(t *testing.T) {
				for !strings.HasSuffix(command[0], "dogear") {
					name, value, _ := strings.Cut(command[0], "=")
					t.Setenv(name, value)
					command = command[1:]
				}
				stdout, stderr, status := dogear(t, demo.Options{}, append(command[1:], "--show-settings")...)
				if status != exitOK || !strings.Contains(stdout, "roles: [controller") {
					t.Errorf("status %d, %s\n%s", status, stderr, stdout)
				}
			})
		}
	}
}

// runCommands finds the commands of a text that run the service, each as its words.
func runCommands(text string) (commands [][]string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			continue
		}
		for command := range strings.SplitSeq(strings.TrimPrefix(line, "$ "), "&&") {
			command, _, _ = strings.Cut(command, " #")
			words := strings.Fields(command)
			for i := range words {
				named := words[i] == "dogear" || strings.HasSuffix(words[i], "/dogear")
				if named && i+1 < len(words) && words[i+1] == "run" && onlyVariables(words[:i]) {
					commands = append(commands, words)
				}
			}
		}
	}
	return commands
}

func onlyVariables(words []string) bool {
	for _, word := range words {
		if !strings.Contains(word, "=") {
			return false
		}
	}
	return true
}

// What was looked for in vain is said once, with what to do.
func TestRunWithoutACluster(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, variable := range []string{"", "/no/such/file"} {
		t.Setenv("KUBECONFIG", variable)
		const want = "dogear: no cluster is known: set --kubeconfig or KUBECONFIG, or run in a Pod\n"
		if stdout, stderr, status := dogear(t, demo.Options{}, "run"); status != exitFailed || stderr != want || stdout != "" {
			t.Errorf("KUBECONFIG=%q: status %d, %q%q, want %q", variable, status, stderr, stdout, want)
		}
	}
}

func TestKubeconfigOfTheFlag(t *testing.T) {
	t.Setenv("KUBECONFIG", "/of/the/environment")
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"clusters": [{"name": "a", "cluster": {"server": "https://flag.example:6443"}}], "users": [{"name": "a", "user": {"token": "t"}}],
		"contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "current-context": "a"}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := clientConfig(file)
	if err != nil || config.Host != "https://flag.example:6443" || os.Getenv("KUBECONFIG") != "/of/the/environment" {
		t.Errorf("got %v, %v", config, err)
	}
	t.Setenv("KUBECONFIG", file)
	if config, err := clientConfig(""); err != nil || config.Host != "https://flag.example:6443" {
		t.Errorf("without the flag: got %v, %v", config, err)
	}
	_, stderr, status := dogear(t, demo.Options{}, "run", "--kubeconfig=/no/such/file")
	if want := "dogear: --kubeconfig: stat /no/such/file: no such file"; status != exitFailed || !strings.HasPrefix(stderr, want) {
		t.Errorf("status %d, %q, want %q", status, stderr, want)
	}
}
