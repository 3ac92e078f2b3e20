package endpoints

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// shell: what a command's exit status leads to.
func shell(e *example) {
	python := e.program("python3")
	e.apply("shell/handlerset.yaml")
	notes := filepath.Join(e.dir, "notes")
	e.run([]string{python, "shell/serve.py", "8080", `
		grep -q '"idempotencyID":"'"$IDEMPOTENCY_ID" || exit 65
		echo "$CAUSE $NAME $ATTEMPT" >>"$NOTES"
		case $NAME$ATTEMPT in later1) exit 1;; never*) exit 65;; esac`}, "NOTES="+notes)
	e.ready()
	web := e.certificate("web")
	e.expect(web, "Succeeded", "Pending", "Succeeded")
	later := e.certificate("later")
	e.expect(later, "Succeeded", "Pending", "Retrying", "Succeeded")
	never := e.certificate("never")
	e.expect(never, "Failed", "Pending", "Failed")
	if reason := e.reason(never); reason != "HTTP422" {
		e.Errorf("the reason is %q, want HTTP422", reason)
	}
	e.remove(web)
	text, err := os.ReadFile(notes)
	want := "Create web 1\nCreate later 1\nCreate later 2\nCreate never 1\nDelete web 1\n"
	if err != nil || string(text) != want {
		e.Errorf("the command ran for\n%s\nwant\n%s (%v)", text, want, err)
	}
}

// later: the endpoint would be called again in an hour; the outcome comes
// before. Its work takes no time, so that it may come before Dogear has written
// that it waits.
func later(e *example, service string) {
	python := e.program("python3")
	authority := filepath.Join(e.dir, "dogear-ca.crt")
	rigtest.Eventually(e, settle, func() error {
		secret := &corev1.Secret{}
		if err := e.admin.Get(e.Context(), client.ObjectKey{Namespace: service, Name: "dogear.dev-callback"}, secret); err != nil {
			return err
		}
		return os.WriteFile(authority, secret.Data["ca.crt"], 0o600)
	})
	e.sign(newKey(e))
	e.run([]string{python, "python/later.py"}, "DOGEAR_CA="+authority, "WORK_SECONDS=0")
	e.apply("handlerset.yaml")
	e.ready()
	web := e.certificate("web")
	e.expect(web, "Succeeded")
	if have, want := e.looks(web), `Succeeded {"phase":"Done"}`; have != want {
		e.Errorf("it is %s, want %s", have, want)
	}
	e.patch(web, `{"spec":{"dnsNames":["a.example.com"]}}`)
	e.expect(web, "Succeeded", `Pending {"phase":"Done"}`, `Waiting {"phase":"Working"}`, `Succeeded {"phase":"Done"}`)
	rigtest.Eventually(e, settle, func() error {
		have := slices.DeleteFunc(e.log.lines(), func(line string) bool { return !strings.HasPrefix(line, "web: taken") })
		return errorUnless(len(have) == 2, "taken %d times, want 2: %q", len(have), e.log.lines())
	})
	if have, want := e.log.calls(), []string{"Create web: Waiting", "Update web: Waiting"}; !slices.Equal(have, want) {
		e.Errorf("the endpoint was called %q, want %q", have, want)
	}
	e.remove(web)
}

// defaults: certificate.yaml becomes expected.yaml as it is created.
func defaults(e *example) {
	e.apply("defaults/handlerset.yaml")
	e.ready()
	have := e.apply("defaults/certificate.yaml")[0]
	want := read(e.T, "defaults/expected.yaml")[0]
	if !reflect.DeepEqual(have.Object["spec"], want.Object["spec"]) {
		e.Errorf("spec is\n%v\nwant\n%v", have.Object["spec"], want.Object["spec"])
	}
	if len(have.GetAnnotations()) > 0 || len(have.GetFinalizers()) > 0 {
		e.Errorf("a set without handlers leaves %v %v", have.GetAnnotations(), have.GetFinalizers())
	}
}

// files: the API server takes all files as they are, in the order of README.md.
func files(e *example) {
	hooks := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hooks"}}
	if err := e.admin.Create(e.Context(), hooks); client.IgnoreAlreadyExists(err) != nil {
		e.Fatal(err)
	}
	n := 0
	for _, pattern := range []string{"*.yaml", "*/*.yaml"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			e.Fatal(err)
		}
		for _, file := range found {
			for _, u := range read(e.T, file) {
				if u.GroupVersionKind() == (schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}) && u.GetNamespace() == "" {
					continue // of defaults: incomplete on purpose
				}
				if err := client.NewDryRunClient(client.WithFieldValidation(e.admin, metav1.FieldValidationStrict)).Create(e.Context(), u); err != nil {
					e.Errorf("%s: %v", file, err)
				}
				n++
			}
		}
	}
	if n < 9 {
		e.Errorf("only %d objects", n)
	}
}

// The endpoints are short enough to be read at a glance.
func TestEndpointsAreShort(t *testing.T) {
	for file, most := range map[string]int{
		"python/endpoint.py": 80, "python/later.py": 50, "node/endpoint.mjs": 80, "go/main.go": 115, "shell/serve.py": 30,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#") {
				n++
			}
		}
		if n > most {
			t.Errorf("%s has %d lines of code, want %d at most", file, n, most)
		}
	}
}
