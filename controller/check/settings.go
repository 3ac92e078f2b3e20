package check

import (
	"maps"
	"slices"
	"strings"
)

// settings are those of an installed process that matter here.
type settings struct {
	namespaces     []string // none: the whole cluster
	leaderElect    bool
	service, url   string // of the webhook
	certificateDir string
	secret         string
	injected       bool // others keep the CA bundle
	callback       bool
	callbackDir    string
}

// unknown are those that hold where nothing else is known.
var unknown = settings{leaderElect: true}

// hasWebhook tells whether the installation has one.
func (s settings) hasWebhook() bool { return s.service != "" || s.url != "" }

// settingsOf are those that were found, by path.
func settingsOf(found map[string][]string) settings {
	s := unknown
	for path, set := range wanted {
		if values, ok := found[path]; ok {
			set(&s, values)
		}
	}
	return s
}

// wanted are the settings that matter, by path.
var wanted = map[string]func(*settings, []string){
	"namespaces":              func(s *settings, v []string) { s.namespaces = v },
	"leaderElect":             func(s *settings, v []string) { s.leaderElect = single(v) != "false" }, // --leader-elect alone is true
	"webhook.service":         func(s *settings, v []string) { s.service = single(v) },
	"webhook.url":             func(s *settings, v []string) { s.url = single(v) },
	"webhook.certificateDir":  func(s *settings, v []string) { s.certificateDir = single(v) },
	"webhook.secret":          func(s *settings, v []string) { s.secret = single(v) },
	"webhook.injectCAFrom":    func(s *settings, v []string) { s.injected = single(v) != "" },
	"callback.address":        func(s *settings, v []string) { s.callback = single(v) != "" },
	"callback.certificateDir": func(s *settings, v []string) { s.callbackDir = single(v) },
}

func wantedPaths() []string { return slices.Sorted(maps.Keys(wanted)) }

// single is the value of a setting that has one.
func single(values []string) string { return strings.Join(values, ",") }
