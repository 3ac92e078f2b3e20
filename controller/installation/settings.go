package installation

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config"
)

// ErrNoSettings says that nothing tells how the service is set up.
var ErrNoSettings = errors.New("how the controller is set up is not known, as it has no Deployment, or the ConfigMap of its settings is gone")

// Settings reads settings of the controller as it does itself: the file, then the
// environment, then flags. Each has its values, as in a list; one that is not set
// has none. The program that is installed may be of another release, so what is not
// known is passed over.
func (i *Installation) Settings(ctx context.Context, reader client.Reader, paths ...string) (map[string][]string, error) {
	d := i.Controller()
	if d == nil || len(d.Spec.Template.Spec.Containers) == 0 {
		return nil, ErrNoSettings
	}
	pod := &d.Spec.Template.Spec
	process := &pod.Containers[0]
	file := ""
	if name, key := settingsMap(pod, process); name != "" {
		stored := &corev1.ConfigMap{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: d.Namespace, Name: name}, stored)
		if apierrors.IsNotFound(err) {
			return nil, ErrNoSettings
		}
		if err != nil {
			return nil, fmt.Errorf("read the ConfigMap %s/%s: %w", d.Namespace, name, err)
		}
		file = stored.Data[key]
	}
	return settingsOf(process, file, paths)
}

func settingsOf(process *corev1.Container, file string, paths []string) (map[string][]string, error) {
	var content map[string]any
	if err := yaml.Unmarshal([]byte(file), &content); err != nil {
		return nil, fmt.Errorf("the settings are no YAML: %w", err)
	}
	flat, flags, found := map[string][]string{}, flagsOf(process.Args), map[string][]string{}
	flatten("", content, flat)
	for _, path := range paths {
		if values, ok := flat[path]; ok {
			found[path] = values
		}
		for _, e := range process.Env {
			if e.Name == config.VariableName(path) && e.ValueFrom == nil {
				found[path] = list(e.Value)
			}
		}
		if value, given := flags[config.FlagName(path)]; given {
			found[path] = list(value)
		}
	}
	return found, nil
}

// flatten brings settings that are nested in a file to their paths.
func flatten(prefix string, from map[string]any, to map[string][]string) {
	for key, value := range from {
		switch value := value.(type) {
		case nil:
		case map[string]any:
			flatten(prefix+key+".", value, to)
		case []any:
			to[prefix+key] = []string{}
			for _, item := range value {
				to[prefix+key] = append(to[prefix+key], fmt.Sprint(item))
			}
		default:
			to[prefix+key] = list(fmt.Sprint(value))
		}
	}
}

func list(text string) (all []string) {
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			all = append(all, item)
		}
	}
	return all
}

// flagsOf reads arguments as the process does: --name=value, or --name value.
func flagsOf(args []string) map[string]string {
	flags := map[string]string{}
	for i, arg := range args {
		name, value, cut := strings.Cut(arg, "=")
		if !strings.HasPrefix(name, "--") {
			continue
		}
		if !cut && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
			value = args[i+1]
		}
		flags[name[2:]] = value
	}
	return flags
}

// settingsMap tells in which ConfigMap, and under which key, the file is that a
// process reads; empty: in none.
func settingsMap(pod *corev1.PodSpec, process *corev1.Container) (name, key string) {
	file := flagsOf(process.Args)["config"]
	for _, e := range process.Env {
		if e.Name == "DOGEAR_CONFIG" && file == "" {
			file = e.Value
		}
	}
	for _, mount := range process.VolumeMounts {
		if path.Dir(file) != path.Clean(mount.MountPath) && file != mount.MountPath {
			continue
		}
		for i := range pod.Volumes {
			if source := pod.Volumes[i].ConfigMap; pod.Volumes[i].Name == mount.Name && source != nil {
				return source.Name, path.Base(file)
			}
		}
	}
	return "", ""
}
