package check

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
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
	for path := range wanted {
		for _, e := range process.Env {
			if e.Name == variableName(path) && e.ValueFrom == nil {
				found[path] = list(e.Value)
			}
		}
		for _, arg := range process.Args {
			if name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "="); name == flagName(path) {
				found[path] = list(value)
			}
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
	"leaderElect":             func(s *settings, v string) { s.leaderElect = v != "false" },
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

// flagName is webhook-service-port for webhook.servicePort.
func flagName(path string) string {
	var b strings.Builder
	for _, c := range path {
		switch {
		case c == '.':
			b.WriteByte('-')
		case unicode.IsUpper(c):
			b.WriteByte('-')
			b.WriteRune(unicode.ToLower(c))
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// variableName is DOGEAR_WEBHOOK_SERVICE_PORT for webhook.servicePort.
func variableName(path string) string {
	return "DOGEAR_" + strings.ToUpper(strings.ReplaceAll(flagName(path), "-", "_"))
}

// settingsMap tells in which ConfigMap, and under which key, the file is that a
// process reads; empty: in none.
func settingsMap(pod *corev1.PodSpec, process *corev1.Container) (name, key string) {
	file := ""
	for i, arg := range process.Args {
		switch flag, value, cut := strings.Cut(arg, "="); {
		case flag == "--config" && cut:
			file = value
		case flag == "--config" && i+1 < len(process.Args):
			file = process.Args[i+1]
		}
	}
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
