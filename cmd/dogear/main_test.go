package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
	"github.com/dogear-dev/dogear/storage"
)

// TestMain makes the test binary behave as dogear where the demo, which runs its
// own program again, has started it.
func TestMain(m *testing.M) {
	if os.Getenv(demo.LifelineVariable) != "" {
		main()
	}
	os.Exit(m.Run())
}

// needsPrograms skips a test that starts a control plane.
func needsPrograms(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a control plane, which -short leaves out")
	}
}

// dogear runs a command line in this process.
func dogear(t *testing.T, defaults demo.Options, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), args, &out, &errs, defaults)
	return out.String(), errs.String(), status
}

func TestHelpAndCompletion(t *testing.T) {
	for _, c := range []struct {
		args string
		want []string
	}{
		{"", []string{"dogear demo", "Environment:", "DOGEAR_ASSETS", "KUBEBUILDER_ASSETS", "NO_COLOR"}},
		{"--help", []string{"Available Commands:", "demo", "version", "completion"}},
		{"demo --help", []string{"--keep", "--timeout", "--dir", "--output", "DOGEAR_ASSETS", "exit status", "Examples:"}},
		{"version", []string{"dogear ", "go1."}},
		{"version -o json", []string{`"version":`, `"platform":`}},
		{"completion bash", []string{"__start_dogear"}},
		{"completion zsh", []string{"#compdef dogear"}},
		{"completion fish", []string{"complete -c dogear"}},
		{"__complete demo --output ", []string{"json", "text"}},
		{"__complete de", []string{"demo"}},
		{"__complete run --roles ", []string{"controller", "webhook"}},
		{"check --help", []string{"--object", "--domain", "exit status", "Examples:"}},
		{"run --help", []string{"dogear run --namespace=dogear", "--webhook-secret", "status 1"}},
	} {
		args := strings.Split(c.args, " ")
		if c.args == "" {
			args = []string{}
		}
		stdout, stderr, status := dogear(t, demo.Options{}, args...)
		if status != exitOK {
			t.Errorf("dogear %s: status %d: %s", c.args, status, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("dogear %s: no %q in:\n%s", c.args, want, stdout)
			}
		}
		if strings.Contains(stdout, demo.HookCommand) {
			t.Errorf("dogear %s shows the hidden command", c.args)
		}
	}
}

// Each command tells of the variables that count for it, and of no others.
func TestHelpTellsTheEnvironmentThatCounts(t *testing.T) {
	all := []string{"KUBECONFIG ", "DOGEAR_NAMESPACE ", "DOGEAR_ASSETS ", "KUBEBUILDER_ASSETS ", "NO_COLOR ", "DOGEAR_CONFIG ", "DOGEAR_* "}
	onCluster := all[:2]
	for args, want := range map[string][]string{
		"--help": all, "demo --help": all[2:5], "run --help": {all[0], all[5], all[6]}, "check --help": {all[0], all[1], all[4]},
		"uninstall --help": onCluster, "rbac --help": onCluster, "migrate --help": onCluster, "version --help": nil,
	} {
		stdout, _, status := dogear(t, demo.Options{}, strings.Split(args, " ")...)
		_, told, there := strings.Cut(stdout, "\nEnvironment:\n")
		if status != exitOK || there != (len(want) > 0) {
			t.Errorf("dogear %s: status %d, %s", args, status, stdout)
		}
		for _, name := range all {
			if strings.Contains(told, "  "+name) != slices.Contains(want, name) {
				t.Errorf("dogear %s: %q is there: want %v: %s", args, name, slices.Contains(want, name), told)
			}
		}
	}
}

func TestWrongUsage(t *testing.T) {
	for args, want := range map[string]string{
		"dmeo":                `dogear: there is no command "dmeo": did you mean "demo"?`,
		"nothing":             `dogear: there is no command "nothing": see 'dogear --help'`,
		"demo extra":          `dogear: dogear demo takes no arguments, but got ["extra"]`,
		"demo --bogus":        `dogear: unknown flag: --bogus: see 'dogear demo --help'`,
		"demo -o xml":         `dogear: --output is "xml": want text or json`,
		"demo --bare -o json": `dogear: --bare makes no report`,
		"demo --timeout=0":    `dogear: --timeout is 0s: want more than 0`,
		"demo --timeout=-1s":  `dogear: --timeout is -1s: want more than 0`,
		"version -o xml":      `dogear: --output is "xml": want text or json`,
	} {
		stdout, stderr, status := dogear(t, demo.Options{}, strings.Split(args, " ")...)
		if status != exitUsage || !strings.HasPrefix(stderr, want) || stdout != "" {
			t.Errorf("dogear %s: status %d, %q, %q, want %d and %q", args, status, stdout, stderr, exitUsage, want)
		}
	}
}

// Errors have texts of others in them, and are for a terminal.
func TestErrorsDoNotDrawOnTheTerminal(t *testing.T) {
	_, stderr, status := dogear(t, demo.Options{}, "demo", "--a\x1b[2J\rb\nc")
	if want := "dogear: unknown flag: --a [2J b\nc: see 'dogear demo --help'\n"; status != exitUsage || stderr != want {
		t.Errorf("status %d, %q, want %q", status, stderr, want)
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0}, {errors.New("any"), 1}, {fmt.Errorf("x: %w", demo.ErrUnexpected), 1}, {wrongUsage("x"), 2},
		{fmt.Errorf("x: %w", signaled{syscall.SIGINT}), 130}, {signaled{syscall.SIGTERM}, 143},
	} {
		if got := status(c.err); got != c.want {
			t.Errorf("%v: status %d, want %d", c.err, got, c.want)
		}
	}
}

func TestErrorsBeforeTheStart(t *testing.T) {
	t.Setenv("DOGEAR_ASSETS", t.TempDir())
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("TMPDIR", t.TempDir())
	_, stderr, status := dogear(t, demo.Options{}, "demo")
	if status != exitFailed || !strings.Contains(stderr, "run 'make controlplane'") {
		t.Errorf("without programs: status %d, %q", status, stderr)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/mine", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, status = dogear(t, demo.Options{}, "demo", "--dir", dir)
	if status != exitFailed || !strings.Contains(stderr, "is not empty: name a new folder") {
		t.Errorf("with a folder in use: status %d, %q", status, stderr)
	}
}

// The demo from end to end. Each has a control plane of its own, as there is
// one service in a cluster.
func TestDemoInPlainText(t *testing.T) {
	needsPrograms(t)
	t.Setenv("NO_COLOR", "1")
	defaults := demo.Options{}
	stdout, stderr, status := dogear(t, defaults, "demo")
	if status != exitOK {
		t.Fatalf("status %d: %s\n%s", status, stderr, stdout)
	}
	for _, want := range []string{
		`admission fills in spec.secretName: "shop-tls"`,
		"Retrying   tries=1  next in 1.", "attempt=1 phase=Pending", "attempt=2 phase=Pending",
		"(the authority is not done yet)",
		"Succeeded  tries=3  phase=Ready",
		"Failed     tries=1  allowed=false name=rogue.example.org",
		"record=Draining", "net/dns          Gone",
		"All 4 objects ended as expected",
		"10 (certs/policy 2, issue/provision 3, net/dns 4, slow/warm-up 1)",
		"4 to 2 certificates (2.0 each), 5 to 2 services (2.5 each)",
		"HandlerFailed 1, HandlerRetrying 1, StatusFallback",
		"dogear demo --keep",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.ContainsAny(stdout, "\x1b✓✗↻") {
		t.Error("colours or icons though nobody wants them")
	}
	if t.Failed() {
		t.Logf("stdout:\n%s", stdout)
	}
}

func TestDemoAsJSON(t *testing.T) {
	needsPrograms(t)
	dir := t.TempDir() + "/demo"
	stdout, stderr, status := dogear(t, demo.Options{}, "demo", "-o", "json", "--dir", dir)
	if status != exitOK {
		t.Fatalf("status %d: %s", status, stderr)
	}
	var report demo.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("stdout is not one document: %v\n%s", err, stdout)
	}
	if !report.OK || report.Error != "" || len(report.Objects) != 4 || report.Dir != dir {
		t.Errorf("want 4 objects as expected: %s", stdout)
	}
	shop := report.Objects[0]
	if shop.Object != "Certificate/shop" || shop.Defaults["spec.secretName"] != "shop-tls" || len(shop.Handlers) != 2 {
		t.Fatalf("want Certificate/shop with its default: %+v", shop)
	}
	if h := shop.Handlers[1]; h.ID != "issue/provision" || h.State != storage.Succeeded || h.Attempts != 3 {
		t.Errorf("want provision to succeed at the third attempt: %+v", h)
	}
	if !strings.Contains(stderr, "alice deletes Service/api") {
		t.Errorf("no progress on stderr: %s", stderr)
	}
	for _, file := range []string{"controller.log", "webhook.log", "kubeconfig"} {
		if info, err := os.Stat(dir + "/" + file); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: want a file of the owner's alone: %v, %v", file, info, err)
		}
	}
}

// The commands that the demo tells people to run do what they should, while it
// is kept.
func TestDemoIsKept(t *testing.T) {
	needsPrograms(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	out, errs := &trigger{text: "Changes show here:"}, &bytes.Buffer{}
	shown := ""
	out.do = func() {
		shown = runPrinted(t, out.String(), "In another terminal:")
		cancel(signaled{syscall.SIGINT})
	}
	if status := run(ctx, []string{"demo", "--keep"}, out, errs, demo.Options{}); status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	for _, want := range []string{"Certificate shop Succeeded", "Certificate rogue Failed", "Service web Succeeded", "certs certificates True", "certificate.cert-manager.io/rogue patched"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %s", want, shown)
		}
	}
	if !strings.Contains(out.String(), "Ending Dogear") {
		t.Errorf("it does not say that it ends: %s", out)
	}
}

// With --bare, the service runs as docs/service.md says, and tells what is missing.
func TestBareControlPlane(t *testing.T) {
	needsPrograms(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	out, errs := &trigger{text: "export PATH="}, &bytes.Buffer{}
	crds, service, inUse := "", "", ""
	out.do = func() {
		crds = runPrinted(t, out.String()+"\n  kubectl get crds\n", "In another terminal:")
		_, config, _ := strings.Cut(out.String(), "KUBECONFIG=")
		config, _, _ = strings.Cut(config, "\n")
		_, service, _ = dogear(t, demo.Options{}, "run", "--kubeconfig="+config, "--leader-elect=false", "--metrics-address=", "--health-address=")
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		_, inUse, _ = dogear(t, demo.Options{}, "run", "--kubeconfig="+config, "--leader-elect=false", "--metrics-address=", "--health-address="+taken.Addr().String())
		cancel(signaled{syscall.SIGINT})
	}
	if status := run(ctx, []string{"demo", "--bare"}, out, errs, demo.Options{}); status != exitOK {
		t.Fatalf("status %d: %s", status, errs)
	}
	if !strings.Contains(crds, "certificates.cert-manager.io") || strings.Contains(crds, "dogear") {
		t.Errorf("want the CRDs of cert-manager alone: %s", crds)
	}
	if !strings.Contains(inUse, "address already in use: see --metrics-address, --health-address") {
		t.Errorf("got %s", inUse)
	}
	for _, want := range []string{"No webhook is set", "dogear: the CRDs of Dogear are not in the cluster: ", "helm upgrade --install dogear-crds oci://", "kubectl apply --server-side -f charts/dogear/files/crds ("} {
		if !strings.Contains(service, want) {
			t.Errorf("no %q in %s", want, service)
		}
	}
}

// runPrinted runs the indented commands of an output in a shell, and returns
// what they print, each run of spaces as one.
func runPrinted(t *testing.T, output, after string) string {
	t.Helper()
	_, output, _ = strings.Cut(output, after)
	commands := []string{"set -e"}
	for line := range strings.Lines(output) {
		if command, ok := strings.CutPrefix(line, "  "); ok {
			commands = append(commands, command)
		}
	}
	text, err := exec.Command("sh", "-c", strings.Join(commands, "\n")).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, text)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

func TestDemoTellsWhichObjectFailed(t *testing.T) {
	needsPrograms(t)
	expected := demo.DefaultExpected()
	expected[1].Handlers = map[string]storage.State{"certs/policy": storage.Succeeded} // of Certificate/rogue
	defaults := demo.Options{Expected: expected}
	t.Setenv("TMPDIR", t.TempDir())
	stdout, stderr, status := dogear(t, defaults, "demo")
	if status != exitFailed {
		t.Errorf("status %d, want %d", status, exitFailed)
	}
	want := `Certificate/rogue: the handler "certs/policy" is Failed, expected was Succeeded: "rogue.example.org" is not below example.com`
	if !strings.Contains(stderr, want) || !strings.Contains(stderr, "logs: "+os.Getenv("TMPDIR")) {
		t.Errorf("want %q and where the logs are:\n%s", want, stderr)
	}
	if !strings.Contains(stdout, "Not all objects ended as expected") || strings.Contains(stdout, "All 4 objects") {
		t.Errorf("the summary does not say so:\n%s", stdout)
	}
}

func TestDemoEndsInTime(t *testing.T) {
	needsPrograms(t)
	expected := append(demo.DefaultExpected(), demo.Expected{Object: "Service/never"})
	t.Setenv("TMPDIR", t.TempDir())
	defaults := demo.Options{Expected: expected}
	_, stderr, status := dogear(t, defaults, "demo", "--timeout", "40s")
	if status != exitFailed || !strings.Contains(stderr, "not done within 40s (see --timeout)") {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// A signal ends everything in order, and leaves nothing behind.
func TestDemoIsInterrupted(t *testing.T) {
	needsPrograms(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Setenv("TMPDIR", t.TempDir())
	out := &trigger{text: "alice creates Certificate/shop", do: func() { cancel(signaled{syscall.SIGINT}) }}
	var errs bytes.Buffer
	defaults := demo.Options{}
	if status := run(ctx, []string{"demo"}, out, &errs, defaults); status != 130 {
		t.Errorf("status %d, want 130: %s", status, &errs)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// trigger is a writer that does something once a text is written.
type trigger struct {
	bytes.Buffer
	text string
	do   func()
}

func (w *trigger) Write(p []byte) (int, error) {
	n, err := w.Buffer.Write(p)
	if strings.Contains(string(p), w.text) {
		w.do()
	}
	return n, err
}
