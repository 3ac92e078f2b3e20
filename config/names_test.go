package config_test

import (
	"testing"

	"github.com/dogear-dev/dogear/config"
)

func TestNamesOfSettings(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		"workers":                 {"workers", "DOGEAR_WORKERS"},
		"urlPrefixes":             {"url-prefixes", "DOGEAR_URL_PREFIXES"},
		"webhook.servicePort":     {"webhook-service-port", "DOGEAR_WEBHOOK_SERVICE_PORT"},
		"webhook.injectCAFrom":    {"webhook-inject-ca-from", "DOGEAR_WEBHOOK_INJECT_CA_FROM"},
		"callback.certificateDir": {"callback-certificate-dir", "DOGEAR_CALLBACK_CERTIFICATE_DIR"},
	} {
		if flag, variable := config.FlagName(path), config.VariableName(path); flag != want[0] || variable != want[1] {
			t.Errorf("%s: %s and %s, want %s", path, flag, variable, want)
		}
	}
}
