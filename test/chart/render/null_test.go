package render

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// null takes a value away, whatever it is: that breaks no template.
func TestNullBreaksNothing(t *testing.T) {
	t.Parallel()
	root := map[string]any{}
	if err := yaml.Unmarshal([]byte(read(t, "charts", "dogear", "values.yaml")), &root); err != nil {
		t.Fatal(err)
	}
	var groups, leaves []string
	collect("", root, &groups, &leaves)
	if len(groups) < 20 || len(leaves) < 100 {
		t.Fatalf("there are %d groups and %d leaves", len(groups), len(leaves))
	}
	sets := valuesSets(t)
	renders := func(base string, paths ...string) {
		t.Helper()
		args := []string{"-f", sets[base], "--set", "crds.enabled=false", "--set", strings.Join(paths, "=null,") + "=null"}
		out, err := template(t, args...)
		if err != nil && strings.Contains(err.Error(), "these values cannot be:") {
			return // one that is left needs one that was taken away
		} else if err != nil {
			t.Errorf("%s without %v: %v", base, paths, err)
			return
		}
		for _, trace := range []string{"<nil>", "%!"} {
			if strings.Contains(out, trace) {
				t.Errorf("%s without %v: there is %q in it", base, paths, trace)
			}
		}
		for _, o := range decode(t, out) {
			if path := findNull("", o.Object); path != "" {
				t.Errorf("%s without %v: %s: %s is null", base, paths, called(o), path)
			}
		}
	}
	siblings := map[string][]string{} // all at once: each run of helm takes its time
	for _, group := range groups {
		if parent := group[:max(0, strings.LastIndex(group, "."))]; parent != "" {
			siblings[parent] = append(siblings[parent], group)
			continue
		}
		for _, base := range []string{"everything-on", "cert-manager", "namespaced"} {
			renders(base, group)
		}
	}
	for _, some := range siblings {
		renders("everything-on", some...)
	}
	for _, some := range bundles(leaves) {
		renders("everything-on", some...)
	}
}

// findNull returns the path of a null; empty, if there is none.
func findNull(path string, node any) string {
	switch node := node.(type) {
	case nil:
		return path
	case map[string]any:
		for key, value := range node {
			if found := findNull(path+"."+key, value); found != "" {
				return found
			}
		}
	case []any:
		for i, value := range node {
			if found := findNull(fmt.Sprintf("%s[%d]", path, i), value); found != "" {
				return found
			}
		}
	}
	return ""
}

// collect finds the paths of maps, and of what is in them. What a map has as its
// default is taken for a group, too.
func collect(prefix string, node map[string]any, groups, leaves *[]string) {
	for _, key := range slices.Sorted(maps.Keys(node)) {
		path := prefix + strings.ReplaceAll(key, ".", `\.`)
		if inner, ok := node[key].(map[string]any); ok && len(inner) > 0 {
			*groups = append(*groups, path)
			collect(path+".", inner, groups, leaves)
			continue
		}
		*leaves = append(*leaves, path)
	}
}

// bundles puts leaves of the same name together: what is off hides what depends
// on it, so a leaf goes apart from those that turn it on.
func bundles(leaves []string) (all [][]string) {
	byName := map[string][]string{}
	for _, leaf := range leaves {
		name := leaf[strings.LastIndex(leaf, ".")+1:]
		byName[name] = append(byName[name], leaf)
	}
	var rest []string
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if len(byName[name]) > 1 {
			all = append(all, byName[name])
		} else {
			rest = append(rest, byName[name]...)
		}
	}
	for some := range slices.Chunk(rest, 16) {
		all = append(all, some)
	}
	return all
}

// A chart may depend on this one: then there are values that are not looked at,
// and null may stay null.
func TestTheChartOfAnotherChart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "charts", "dogear"), os.DirFS(chart(t, "dogear"))); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("Chart.yaml", "{apiVersion: v2, name: another, version: 0.1.0, dependencies: [{name: dogear, version: "+
		metadata(t, "dogear").Version+", condition: dogear.enabled}]}")
	nulls := "global: {image: {registry: x}}\ndogear:\n  enabled: true\n  commonLabels: {a: null}\n  image: {pullPolicy: null}\n" +
		"  webhook: {replicas: null, certificate: null, enabled: null}\n  podSecurityContext: {runAsUser: null}\n  rbac: null\n"
	write("values.yaml", nulls)
	for name, args := range map[string][]string{"its values": nil, "values of users": {"-f", write("users.yaml", nulls)}} {
		out, err := helm(t, append([]string{"template", release, dir}, args...)...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		objects := decode(t, out)
		if find(objects, "Deployment", "dogear-controller") == nil {
			t.Errorf("%s: nothing is made", name)
		}
		for _, o := range objects {
			if path := findNull("", o.Object); path != "" {
				t.Errorf("%s: %s: %s is null", name, called(o), path)
			}
		}
	}
	if out, err := helm(t, "template", release, dir, "--set", "dogear.enabled=false"); err != nil || find(decode(t, out), "Deployment", "dogear-controller") != nil {
		t.Errorf("it is off: %v", err)
	}
}

// There null stays null, so the schema takes it.
func TestTheSchemaTakesNull(t *testing.T) {
	t.Parallel()
	var schema map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "charts", "dogear", "values.schema.json")), &schema); err != nil {
		t.Fatal(err)
	}
	var look func(path string, s map[string]any)
	look = func(path string, s map[string]any) {
		types, _ := s["type"].([]any)
		enum, restricted := s["enum"].([]any)
		if path != "" && (!slices.Contains(types, any("null")) || restricted && !slices.Contains(enum, any(nil))) {
			t.Errorf("%s: %v %v", path, s["type"], enum)
		}
		properties, _ := s["properties"].(map[string]any)
		for key, property := range properties {
			look(fmt.Sprintf("%s/%s", path, key), property.(map[string]any))
		}
		if len(properties) > 0 && s["additionalProperties"] != false {
			t.Errorf("%s: unknown keys are accepted", path)
		}
	}
	look("", schema)
}
