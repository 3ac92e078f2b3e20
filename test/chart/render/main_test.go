// Package render looks at what the charts come to: each set of values in the
// chart's folder ci, by helm template, without installing anything.
package render

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

var update = flag.Bool("update", false, "write the goldens anew")

func TestMain(m *testing.M) {
	flag.Parse()
	rigtest.Main(m, rigtest.WithCertManagerCRDs())
}

const (
	release   = "dogear"
	namespace = "dogear"
)

// chart returns the folder of a chart.
func chart(t *testing.T, name string) string {
	t.Helper()
	return filepath.Join(root(t), "charts", name)
}

func root(t *testing.T) string {
	t.Helper()
	root, err := rig.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// valuesSets are the files of values in the chart's folder ci, by name.
func valuesSets(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chart(t, "dogear"), "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no sets of values: %v", err)
	}
	sets := map[string]string{}
	for _, file := range files {
		sets[strings.TrimSuffix(filepath.Base(file), "-values.yaml")] = file
	}
	return sets
}

// helm runs helm, without a cluster and without settings of the user.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program, err := rig.Binary("helm")
	if err != nil && testing.Short() {
		t.Skip(err)
	} else if err != nil {
		t.Fatalf("%v (helm: make helm)", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	home := t.TempDir()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = []string{"HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "none")}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		return out.String() + problems.String(), errors.New(strings.TrimSpace(problems.String()))
	}
	return out.String(), nil
}

// template renders the chart with further arguments, such as --set.
func template(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return helm(t, append([]string{"template", release, chart(t, "dogear"), "--namespace", namespace}, args...)...)
}

// rendered are the objects that the chart makes, hooks included.
func rendered(t *testing.T, args ...string) []*unstructured.Unstructured {
	t.Helper()
	text, err := template(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, text)
}

func decode(t *testing.T, text string) (objects []*unstructured.Unstructured) {
	t.Helper()
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := documents.Decode(object); errors.Is(err, io.EOF) {
			return objects
		} else if err != nil {
			t.Fatal(err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// called names an object in messages.
func called(o *unstructured.Unstructured) string {
	return strings.TrimPrefix(o.GetNamespace()+"/", "/") + o.GetKind() + " " + o.GetName()
}

// find returns the object of a kind and name, nil if there is none.
func find(objects []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	for _, o := range objects {
		if o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	return nil
}

// eachSet runs a test for every set of values.
func eachSet(t *testing.T, test func(t *testing.T, objects []*unstructured.Unstructured)) {
	t.Helper()
	for name, file := range valuesSets(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, rendered(t, "-f", file))
		})
	}
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root(t)}, path...)...)) //nolint:gosec // a file of the repository
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func itoa(port int32) string { return strconv.Itoa(int(port)) }
