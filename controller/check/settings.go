package check

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/config"
)

// settings are those of an installed process that matter here. The program that
// is installed may be of another release, so what is not known is passed over.
type settings struct {
	namespaces     []string // none: the whole cluster
	leaderElect    bool
	service, url   string // of the webhook
	servicePort    string
	certificateDir string
	secret         string
	injected       bool // others keep the CA bundle
	callback       bool
	callbackDir    string
}

// unknown are those that hold where nothing else is known.
var unknown = settings{leaderElect: true, servicePort: "443"}

// hasWebhook tells whether the installation has one.
func (s settings) hasWebhook() bool { return s.service != "" || s.url != "" }

// settingsOf reads the settings of a process, as it does itself: the file, then
// the environment, then flags.
func settingsOf(process *corev1.Container, file string) (settings, error) {
	found := map[string][]string{}
	var content map[string]any
	if err := yaml.Unmarshal([]byte(file), &content); err != nil {
		return unknown, fmt.Errorf("the settings are no YAML: %w", err)
	}
	flatten("", content, found)
	flags := flagsOf(process.Args)
	for path := range wanted {
		for _, e := range process.Env {
			if e.Name == config.VariableName(path) && e.ValueFrom == nil {
				found[path] = list(e.Value)
			}
		}
		if value, given := flags[config.FlagName(path)]; given {
			found[path] = list(value)
		}
	}
	s := unknown
	for path, set := range wanted {
		if values, ok := found[path]; ok {
			set(&s, strings.Join(values, ","))
		}
	}
	return s, nil
}

// wanted are the settings that matter, by path.
var wanted = map[string]func(*settings, string){
	"namespaces":              func(s *settings, v string) { s.namespaces = list(v) },
	"leaderElect":             func(s *settings, v string) { s.leaderElect = v != "false" }, // --leader-elect alone is true
	"webhook.service":         func(s *settings, v string) { s.service = v },
	"webhook.servicePort":     func(s *settings, v string) { s.servicePort = v },
	"webhook.url":             func(s *settings, v string) { s.url = v },
	"webhook.certificateDir":  func(s *settings, v string) { s.certificateDir = v },
	"webhook.secret":          func(s *settings, v string) { s.secret = v },
	"webhook.injectCAFrom":    func(s *settings, v string) { s.injected = v != "" },
	"callback.address":        func(s *settings, v string) { s.callback = v != "" },
	"callback.certificateDir": func(s *settings, v string) { s.callbackDir = v },
}

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
			to[prefix+key] = []string{fmt.Sprint(value)}
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
