//go:build linux

package image

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// ko is what is in .ko.yaml.
type ko struct {
	DefaultBaseImage string
	DefaultPlatforms []string
	Builds           []struct {
		ID, Main            string
		Env, Flags, Ldflags []string
	}
}

func readKo(t *testing.T) (k ko) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(read(t, ".ko.yaml")), &k); err != nil {
		t.Fatal(err)
	}
	if len(k.Builds) != 1 {
		t.Fatalf("there are %d builds", len(k.Builds))
	}
	return k
}

func TestBothWaysBuildTheSame(t *testing.T) {
	t.Parallel()
	k, command := readKo(t), "CGO_ENABLED=0 "+instruction(t, "RUN CGO_ENABLED=0")
	b := k.Builds[0]
	flags := regexp.MustCompile(`go build (\S+) -ldflags "([^"]*)" -o /out/dogear (\S+)$`).FindStringSubmatch(command)
	if flags == nil {
		t.Fatalf("the Dockerfile builds with %s", command)
	}
	if ldflags := strings.ReplaceAll(flags[2], "$VERSION", "{{.Env.VERSION}}"); flags[1] != strings.Join(b.Flags, " ") || ldflags != strings.Join(b.Ldflags, " ") || flags[3] != b.Main {
		t.Errorf("%v and %v", flags[1:], b)
	}
	if !slices.Equal(b.Env, []string{"CGO_ENABLED=0"}) || !strings.Contains(command, "GOOS=$TARGETOS GOARCH=$TARGETARCH") {
		t.Errorf("%v and %s", b.Env, command)
	}
	if !strings.Contains(read(t, "cmd", "dogear", "version.go"), "\nvar version string\n") {
		t.Error("nothing is called main.version")
	}
}

func TestTheImageIsWhatTheChartTakesItFor(t *testing.T) {
	t.Parallel()
	var values struct {
		PodSecurityContext struct{ RunAsUser, RunAsGroup int }
		Image              struct{ Registry, Repository string }
	}
	if err := yaml.Unmarshal([]byte(read(t, "charts", "dogear", "values.yaml")), &values); err != nil {
		t.Fatal(err)
	}
	user := fmt.Sprintf("%d:%d", values.PodSecurityContext.RunAsUser, values.PodSecurityContext.RunAsGroup)
	if got := instruction(t, "USER"); got != user || user != fmt.Sprintf("%d:%[1]d", id) {
		t.Errorf("the image runs as %s, the chart as %s", got, user)
	}
	if got := instruction(t, "ENTRYPOINT"); got != `["/dogear"]` {
		t.Errorf("the entry point is %s", got)
	}
	if got := instruction(t, "COPY --from=build /out/dogear"); got != "/dogear" {
		t.Errorf("the program is copied to %s", got)
	}
	k := readKo(t)
	if !strings.HasSuffix(k.DefaultBaseImage, ":nonroot") { // which is 65532 there
		t.Errorf("ko's base is %s", k.DefaultBaseImage)
	}
	chart := read(t, "charts", "dogear", "Chart.yaml")
	for _, platform := range k.DefaultPlatforms {
		if !strings.Contains(chart, "- "+platform+"\n") {
			t.Errorf("artifacthub.io/images of the chart does not name %s", platform)
		}
	}
	// No command: /dogear of one is /ko-app/dogear of the other.
	for _, template := range []string{"controller/deployment.yaml", "webhook/deployment.yaml", "hooks/_hook.tpl", "_pod.tpl"} {
		if strings.Contains(read(t, "charts", "dogear", "templates", template), "command:") {
			t.Errorf("%s has a command", template)
		}
	}
}

func TestTheImageIsBuiltWithGoOfTheModule(t *testing.T) {
	t.Parallel()
	module := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if from := instruction(t, "FROM --platform=$BUILDPLATFORM"); module == nil || !strings.HasPrefix(from, "golang:"+module[1]+" ") {
		t.Errorf("go.mod has %v, the Dockerfile %s", module, from)
	}
	if !slices.Contains(instructions(t), "FROM scratch") {
		t.Error("there is more in the image than the program and what it trusts")
	}
}

// What is left out of the context is what git does not have: a commit with files
// missing is a modified one.
func TestTheContextHasWhatTheCommitHas(t *testing.T) {
	t.Parallel()
	for _, line := range strings.Split(strings.TrimSpace(read(t, ".gitignore")), "\n") {
		name := strings.Trim(line, "/")
		if !strings.Contains(read(t, ".dockerignore"), name+"\n") {
			t.Errorf(".dockerignore does not have %s", name)
		}
	}
}
