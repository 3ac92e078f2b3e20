package check

import (
	"reflect"
	"slices"
	"testing"

	"github.com/dogear-dev/dogear/config"
)

func TestSettingsThatMatter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found map[string][]string
		want  settings
	}{
		{nil, settings{leaderElect: true}},
		{map[string][]string{"leaderElect": nil, "webhook.url": nil, "callback.address": nil}, settings{leaderElect: true}},
		{map[string][]string{
			"namespaces": {"a", "b"}, "leaderElect": {"false"}, "webhook.service": {"other"}, "webhook.certificateDir": {"/etc/dogear-tls"},
			"webhook.injectCAFrom": {"ns/name"}, "callback.address": {":9444"},
		}, settings{namespaces: []string{"a", "b"}, service: "other", certificateDir: "/etc/dogear-tls", injected: true, callback: true}},
	} {
		if have := settingsOf(c.found); !reflect.DeepEqual(have, c.want) {
			t.Errorf("of %v: got %+v", c.found, have)
		}
	}
	if !(settings{url: "https://h"}).hasWebhook() || unknown.hasWebhook() {
		t.Error("there is a webhook where there is a Service or a URL")
	}
}

func TestWhatIsReadIsASetting(t *testing.T) {
	t.Parallel()
	for _, path := range wantedPaths() {
		if !slices.Contains(config.Paths(), path) {
			t.Errorf("there is no setting %s", path)
		}
	}
}
