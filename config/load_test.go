package config_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/dogear-dev/dogear/config"
)

// sources are where a test reads settings from.
type sources struct {
	file string
	env  map[string]string
	args []string
}

func (s sources) load(t *testing.T) (*config.Loaded, error) {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	loader := config.Register(flags)
	args := s.args
	if s.file != "" {
		name := filepath.Join(t.TempDir(), "dogear.yaml")
		if err := os.WriteFile(name, []byte(s.file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", name)
	}
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	environ := []string{"PATH=/bin", "DOGEARED=yes"}
	for name, text := range s.env {
		environ = append(environ, name+"="+text)
	}
	return loader.Load(environ)
}

// controllerOnly is the least that is valid, in front of other arguments.
func controllerOnly(args ...string) []string { return append([]string{"--roles=controller"}, args...) }

func TestRolesAreThoseThatThereAre(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"controller"}},
		{[]string{"--roles="}, []string{"controller"}},
		{[]string{"--webhook-service=dogear"}, []string{"controller", "webhook"}},
		{[]string{"--webhook-url=https://a:1"}, []string{"controller", "webhook"}},
		{[]string{"--webhook-service=dogear", "--roles=controller"}, []string{"controller"}},
	} {
		s, err := sources{args: test.args}.load(t)
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		if !reflect.DeepEqual(s.Roles, test.want) || s.Has("webhook") != (len(test.want) == 2) {
			t.Errorf("%q: got %q", test.args, s.Roles)
		}
		want := config.Default()
		want.Roles, want.Webhook.Service, want.Webhook.URL = s.Roles, s.Webhook.Service, s.Webhook.URL
		if !reflect.DeepEqual(s.Settings, want) {
			t.Errorf("%q: got  %+v\nwant %+v", test.args, s.Settings, want)
		}
	}
	_, err := sources{args: []string{"--roles=controller,webhook"}}.load(t)
	if err == nil || !strings.Contains(err.Error(), "webhook.service (default): the role webhook needs it") {
		t.Errorf("got %v", err)
	}
}

func TestVariablesOfOthersArePassedOver(t *testing.T) {
	t.Parallel()
	s, err := sources{env: map[string]string{
		"DOGEAR_ASSETS": "/bin", "DOGEAR_KEEP": "1", "DOGEAR_CA": "a", "DOGEAR_DEMO_KEY": "a",
		"DOGEAR_SERVICE_HOST": "10.0.0.1", "DOGEAR_SERVICE_PORT": "443", "DOGEAR_SERVICE_PORT_WEBHOOK": "443",
		"DOGEAR_PORT": "tcp://10.0.0.1:443", "DOGEAR_PORT_443_TCP": "tcp://10.0.0.1:443", "DOGEAR_PORT_443_TCP_PROTO": "tcp",
		"DOGEAR_PORT_443_TCP_PORT": "443", "DOGEAR_PORT_443_TCP_ADDR": "10.0.0.1", "DOGEAR_PORT_53_UDP": "udp://10.0.0.1:53",
		"DOGEAR_WEBHOOK_SERVICE_HOST": "10.0.0.2", "DOGEAR_WEBHOOK_SERVICE_PORT": "444", "DOGEAR_WEBHOOK_PORT": "tcp://10.0.0.2:444",
		"DOGEAR_WEBHOOK_SERVICE": "dogear-webhook",
	}}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	if s.Webhook.Service != "dogear-webhook" || s.Webhook.ServicePort != 444 {
		t.Errorf("got %+v", s.Webhook)
	}
}

func TestFlagsGoBeforeTheEnvironmentAndThatBeforeTheFile(t *testing.T) {
	t.Parallel()
	s, err := sources{
		file: "roles: [controller]\nworkers: 2\ngracePeriod: 10s\nleaderElect: false\nurlPrefixes: [https://file]\nwebhook: {url: 'https://file:1'}\n",
		env: map[string]string{
			"DOGEAR_WORKERS": "3", "DOGEAR_GRACE_PERIOD": "20s", "DOGEAR_WEBHOOK_URL": "https://env:1",
			"DOGEAR_SERVICE_HOST": "10.0.0.1", "DOGEAR_PORT": "tcp://10.0.0.1:443", // as Kubernetes sets for a Service
		},
		args: []string{"--workers", "4", "--url-prefixes=https://a,https://b", "--url-prefixes", "https://c"},
	}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	if s.Workers != 4 || s.GracePeriod != 20*time.Second || s.LeaderElect || s.Webhook.URL != "https://env:1" {
		t.Errorf("got %+v", s.Settings)
	}
	if want := []string{"https://a", "https://b", "https://c"}; !reflect.DeepEqual(s.URLPrefixes, want) {
		t.Errorf("got %q: want %q", s.URLPrefixes, want)
	}
	for path, want := range map[string]string{
		"workers": "flag --workers", "webhook.url": "variable DOGEAR_WEBHOOK_URL", "log.level": "default",
	} {
		if got := s.Source(path); got != want {
			t.Errorf("%s: got source %q: want %q", path, got, want)
		}
	}
	if got := s.Source("leaderElect"); !strings.HasPrefix(got, "file ") {
		t.Errorf("got %q", got)
	}
}

func TestTheFileMayBeNamedByTheEnvironment(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(name, []byte("roles: [controller]\nworkers: 7"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sources{env: map[string]string{"DOGEAR_CONFIG": name}}.load(t)
	if err != nil || s.Workers != 7 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestAnEmptyListTakesAllAway(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]sources{
		"file": {file: "roles: [controller]\nnamespacedResources: []"},
		"env":  {env: map[string]string{"DOGEAR_NAMESPACED_RESOURCES": ""}, args: controllerOnly()},
		"flag": {args: controllerOnly("--namespaced-resources=")},
	} {
		loaded, err := s.load(t)
		if err != nil || len(loaded.NamespacedResources) != 0 {
			t.Errorf("%s: got %+v, %v", name, loaded, err)
		}
	}
}

func TestAFileWithNothingSetsNothing(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"# nothing", "workers:", "webhook:\n  url:\n", "{}"} {
		s, err := sources{file: file, args: controllerOnly()}.load(t)
		if err != nil || s.Workers != 64 {
			t.Errorf("%q: got %+v, %v", file, s, err)
		}
	}
}

func TestBadSourcesAreNamed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sources
		want []string
	}{
		"an unknown key":            {sources{file: "worker: 1"}, []string{`dogear.yaml": unknown key "worker": did you mean "workers"?`}},
		"all unknown keys":          {sources{file: "worker: 1\nwebhok: {}\nzzzzzzzz: 1"}, []string{`did you mean "workers"?`, `unknown key "webhok": did you mean "webhook"?`, `unknown key "zzzzzzzz"`}},
		"an unknown key in a group": {sources{file: "webhook: {lameDuk: x}"}, []string{`unknown key "webhook.lameDuk": did you mean "webhook.lameDuck"?`}},
		"a key of another level":    {sources{file: "lameDuck: 1s"}, []string{`unknown key "lameDuck": did you mean "webhook.lameDuck"?`}},
		"a key in other letters":    {sources{file: "URLPrefixes: []"}, []string{`did you mean "urlPrefixes"?`}},
		"a key with a dot":          {sources{file: "webhook.url: a"}, []string{`unknown key "webhook.url"`}},
		"a key twice":               {sources{file: "workers: 1\nworkers: 2"}, []string{"workers", "already"}},
		"no YAML":                   {sources{file: "workers: ["}, []string{`settings in "`}},
		"no object":                 {sources{file: "[1]"}, []string{"want an object"}},
		"a group without keys":      {sources{file: "webhook: 1"}, []string{"webhook: want an object"}},
		"an object as value":        {sources{file: "workers: {a: 1}"}, []string{"workers: want a value, not an object"}},
		"a list of lists":           {sources{file: "urlPrefixes: [[a]]"}, []string{"urlPrefixes: want texts, numbers, true or false"}},
		"a list as number":          {sources{file: "workers: [1, 2]"}, []string{"workers (file", "want one value, not 2"}},
		"words as number":           {sources{file: "workers: many"}, []string{`workers (file `, `"many": want a whole number`}},
		"a fraction":                {sources{file: "workers: 1.5"}, []string{`"1.5": want a whole number`}},
		"a number as bool":          {sources{file: "leaderElect: 1"}, []string{`leaderElect (file `, `"1": want true or false`}},
		"words as duration":         {sources{file: "gracePeriod: 10 minutes"}, []string{`"10 minutes": want a duration such as 300ms`}},
		"a variable":                {sources{env: map[string]string{"DOGEAR_WORKERS": "many"}}, []string{`workers (variable DOGEAR_WORKERS): "many"`}},
		"an unknown variable":       {sources{env: map[string]string{"DOGEAR_WORKER": "1"}}, []string{`unknown variable DOGEAR_WORKER: did you mean "DOGEAR_WORKERS"?`}},
		"all unknown variables": {sources{env: map[string]string{"DOGEAR_URL_PREFIX": "a", "DOGEAR_LAME_DUCK": "1s", "DOGEAR_ZZZZZZZZ": "1", "DOGEAR_WORKERS": "many"}}, []string{
			`unknown variable DOGEAR_URL_PREFIX: did you mean "DOGEAR_URL_PREFIXES"?`, `did you mean "DOGEAR_WEBHOOK_LAME_DUCK"?`, "unknown variable DOGEAR_ZZZZZZZZ\n", `"many": want a whole number`,
		}},
		"a variable like those of Services": {sources{env: map[string]string{"DOGEAR_WEBHOK_SERVICE_PORT": "1", "DOGEAR_SERVICE_HOST": "10.0.0.1"}}, []string{
			`unknown variable DOGEAR_WEBHOK_SERVICE_PORT: did you mean "DOGEAR_WEBHOOK_SERVICE_PORT"?`,
		}},
		"a flag":               {sources{args: []string{"--workers=many"}}, []string{`"many"`, "--workers", "want a whole number"}},
		"no such file":         {sources{args: []string{"--config", "/no/such/file"}}, []string{"read settings: open /no/such/file"}},
		"a bad value's source": {sources{args: controllerOnly("--workers=0")}, []string{"workers (flag --workers): 0: want 1 to 1024"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := test.load(t)
			if err == nil {
				t.Fatal("it is taken")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %v\nwant %q", err, want)
				}
			}
		})
	}
}

func TestPrintedSettingsReadAsTheSame(t *testing.T) {
	t.Parallel()
	s, err := sources{env: map[string]string{"DOGEAR_WORKERS": "3"}, args: controllerOnly(
		"--url-prefixes=https://a/b,https://c", "--namespaced-resources=*.*,services", "--webhook-url=https://x:1", "--log-level=debug", "--ignore-annotations=a/*")}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := s.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"workers: 3                               # variable DOGEAR_WORKERS\n",
		"urlPrefixes: [https://a/b, https://c]    # flag --url-prefixes\n",
		"\nwebhook:\n  address: :9443                         # default\n",
		`namespacedResources: ['*.*', services]`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	again, err := sources{file: b.String()}.load(t)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again.Settings, s.Settings) {
		t.Errorf("got  %+v\nwant %+v", again.Settings, s.Settings)
	}
}

func TestHelpTellsDefaults(t *testing.T) {
	t.Parallel()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	config.Register(flags)
	help := flags.FlagUsages()
	for _, want := range []string{
		"--workers int", "at the same time (default 64)", "--leader-elect", "(default true)", "--webhook-timeout duration", "(default 2s)", "--url-prefixes strings",
	} {
		if !strings.Contains(help, want) {
			t.Errorf("no %q in:\n%s", want, help)
		}
	}
}
