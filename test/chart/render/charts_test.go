package render

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/test/rig"
)

// about is what is in Chart.yaml.
type about struct {
	Version, AppVersion, KubeVersion string
	Annotations                      map[string]string
}

func metadata(t *testing.T, name string) (a about) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(read(t, "charts", name, "Chart.yaml")), &struct {
		*about `json:",inline"`
		// The rest is of no interest here.
		APIVersion, Name, Description, Type, Home string
		Sources, Keywords                         []string
		Maintainers                               []map[string]string
	}{about: &a}); err != nil {
		t.Fatal(err)
	}
	return a
}

func TestBothChartsAreOfOneRelease(t *testing.T) {
	t.Parallel()
	service, crds := metadata(t, "dogear"), metadata(t, "dogear-crds")
	if service.Version != crds.Version || service.AppVersion != crds.AppVersion || service.KubeVersion != crds.KubeVersion {
		t.Errorf("%s, %s, %s and %s, %s, %s", service.Version, service.AppVersion, service.KubeVersion, crds.Version, crds.AppVersion, crds.KubeVersion)
	}
	if service.AppVersion != "v"+service.Version {
		t.Errorf("the chart %s is for %s: want v%[1]s", service.Version, service.AppVersion)
	}
	if image := "ghcr.io/dogear-dev/dogear:" + service.AppVersion; !strings.Contains(service.Annotations["artifacthub.io/images"], image) {
		t.Errorf("artifacthub.io/images does not name %s", image)
	}
}

func TestAnnotationsForArtifactHub(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string][]string{
		"dogear":      {"license", "category", "operator", "operatorCapabilities", "prerelease", "containsSecurityUpdates", "links", "images", "crds", "crdsExamples", "changes"},
		"dogear-crds": {"license", "category", "prerelease", "containsSecurityUpdates", "links", "crds", "changes"},
	} {
		annotations := metadata(t, name).Annotations
		for _, key := range keys {
			if annotations["artifacthub.io/"+key] == "" {
				t.Errorf("%s: no annotation artifacthub.io/%s", name, key)
			}
		}
		for key, text := range annotations {
			var parsed any
			if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil {
				t.Errorf("%s: %s: %v", name, key, err)
			}
		}
	}
}

func TestExamplesForArtifactHubAreValid(t *testing.T) {
	t.Parallel()
	var examples []map[string]any
	if err := yaml.UnmarshalStrict([]byte(metadata(t, "dogear").Annotations["artifacthub.io/crdsExamples"]), &examples); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]v1alpha1.AnySet{"ClusterHandlerSet": &v1alpha1.ClusterHandlerSet{}, "HandlerSet": &v1alpha1.HandlerSet{}}
	for _, example := range examples {
		set := kinds[example["kind"].(string)]
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(example, set, true); err != nil {
			t.Error(err)
		} else if errs := v1alpha1.Validate(set, nil); len(errs) > 0 {
			t.Errorf("%s: %v", example["kind"], errs.ToAggregate())
		}
		delete(kinds, example["kind"].(string))
	}
	if len(kinds) > 0 {
		t.Errorf("there is none of %v", slices.Sorted(maps.Keys(kinds)))
	}
}

// READMEs of charts are read elsewhere, too: by helm show readme, on Artifact Hub.
func TestLinksOfReadmesLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"dogear", "dogear-crds"} {
		text := read(t, "charts", name, "README.md")
		links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(text, -1)
		for _, link := range links {
			path, ours := strings.CutPrefix(link[1], "https://github.com/dogear-dev/dogear/blob/main/")
			if !ours {
				t.Errorf("%s: %s: want an absolute URL", name, link[1])
			} else if path, _, _ = strings.Cut(path, "#"); read(t, path) == "" {
				t.Errorf("%s: nothing is at %s", name, path)
			}
		}
		if len(links) == 0 {
			t.Errorf("%s: there are none", name)
		}
	}
}

func TestBothChartsHaveTheSameCRDs(t *testing.T) {
	t.Parallel()
	files := func(name string) map[string]string {
		found := map[string]string{}
		dir := filepath.Join(chart(t, name), "files", "crds")
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			found[entry.Name()] = read(t, "charts", name, "files", "crds", entry.Name())
		}
		return found
	}
	service, crds := files("dogear"), files("dogear-crds")
	if diff := cmp.Diff(service, crds); diff != "" {
		t.Errorf("they differ (make generate):\n%s", diff)
	}
	if len(service) != 2 {
		t.Errorf("there are %v: want 2", slices.Sorted(maps.Keys(service)))
	}
}

// What the templates make of the CRDs is what they are but for labels and
// annotations.
func TestCRDsAreRenderedAsTheyAre(t *testing.T) {
	t.Parallel()
	want, err := rig.DogearCRDs()
	if err != nil {
		t.Fatal(err)
	}
	crdsOf := func(text string) map[string]*apiextensionsv1.CustomResourceDefinition {
		found := map[string]*apiextensionsv1.CustomResourceDefinition{}
		for _, object := range decode(t, text) {
			if object.GetKind() != "CustomResourceDefinition" {
				continue
			}
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, crd, true); err != nil {
				t.Fatal(err)
			}
			found[crd.Name] = crd
		}
		return found
	}
	service, err := template(t, "--set-string", "commonLabels.team=platform,crds.annotations.argocd\\.argoproj\\.io/sync-wave=-1")
	if err != nil {
		t.Fatal(err)
	}
	apart, err := helm(t, "template", "crds", chart(t, "dogear-crds"), "--set-string", "labels.team=platform,annotations.argocd\\.argoproj\\.io/sync-wave=-1")
	if err != nil {
		t.Fatal(err)
	}
	for name, found := range map[string]map[string]*apiextensionsv1.CustomResourceDefinition{"dogear": crdsOf(service), "dogear-crds": crdsOf(apart)} {
		if len(found) != len(want) {
			t.Errorf("%s has %v", name, slices.Sorted(maps.Keys(found)))
		}
		for _, w := range want {
			got := found[w.Name]
			if diff := cmp.Diff(w.Spec, got.Spec); diff != "" {
				t.Errorf("%s: %s:\n%s", name, w.Name, diff)
			}
			if got.Annotations["helm.sh/resource-policy"] != "keep" || got.Annotations["controller-gen.kubebuilder.io/version"] == "" || got.Labels["app.kubernetes.io/part-of"] != "dogear" {
				t.Errorf("%s: %s has annotations %v and labels %v", name, w.Name, got.Annotations, got.Labels)
			}
			if got.Labels["team"] != "platform" || got.Annotations["argocd.argoproj.io/sync-wave"] != "-1" {
				t.Errorf("%s has annotations %v and labels %v", w.Name, got.Annotations, got.Labels)
			}
		}
	}
}

// A file of values may have numbers where texts are meant, and great ones.
func TestLabelsThatAreNumbers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("labels: {build: 20261130}\nannotations: {ratio: 0.5}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	apart, err := helm(t, "template", "crds", chart(t, "dogear-crds"), "-f", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range decode(t, apart) {
		if o.GetLabels()["build"] != "20261130" || o.GetAnnotations()["ratio"] != "0.5" {
			t.Errorf("%s: labels %v, annotations %v", called(o), o.GetLabels(), o.GetAnnotations())
		}
	}
	for _, o := range rendered(t, "-f", valuesSets(t)["numbers"]) {
		if build := o.GetLabels()["build"]; build != "20261130" {
			t.Errorf("%s: the label is %q", called(o), build)
		}
	}
}

func TestCRDsNeedNotBeKept(t *testing.T) {
	t.Parallel()
	apart, err := helm(t, "template", "crds", chart(t, "dogear-crds"), "--set", "keep=false")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range append(decode(t, apart), rendered(t, "--set", "crds.keep=false")...) {
		if policy := o.GetAnnotations()["helm.sh/resource-policy"]; policy != "" {
			t.Errorf("%s has the policy %q", called(o), policy)
		}
	}
	if o := find(rendered(t, "--set", "crds.enabled=false"), "CustomResourceDefinition", "handlersets.dogear.dev"); o != nil {
		t.Error("crds.enabled is false, and there it is")
	}
}
