package check_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/check"
	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/webhook/cert"
)

var configuration = client.ObjectKey{Name: "dogear.dev"}

// published is the MutatingWebhookConfiguration as it should be.
func (c *cluster) published() *admissionregistrationv1.MutatingWebhookConfiguration {
	c.Helper()
	m := &admissionregistrationv1.MutatingWebhookConfiguration{}
	c.must(c.admin.Get(c.Context(), configuration, m))
	return m
}

// spoil changes the configuration before the controller puts it right, and looks.
func (c *cluster) spoil(change func(*admissionregistrationv1.MutatingWebhookConfiguration), name string, verdict check.Verdict, texts ...string) {
	c.Helper()
	restore := edit(c, configuration, &admissionregistrationv1.MutatingWebhookConfiguration{}, false, change)
	if err := c.wanted(c.report(), "webhook", name, verdict, texts...); err != nil {
		c.Error(err)
	}
	restore()
}

func (c *cluster) deletedConfiguration() {
	m := c.published()
	c.must(c.admin.Delete(c.Context(), m.DeepCopy()))
	r := c.report()
	if err := c.wanted(r, "webhook", "configurations", check.Failed, "the MutatingWebhookConfiguration dogear.dev", "a minute after they were deleted"); err != nil {
		c.Error(err)
	}
	if err := c.wanted(r, "webhook", "refuses a wrong set", check.OK); err != nil {
		c.Error(err)
	}
	m.ResourceVersion, m.UID = "", ""
	c.must(c.admin.Create(c.Context(), m))
	v := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	c.must(c.admin.Get(c.Context(), configuration, v))
	c.must(c.admin.Delete(c.Context(), v.DeepCopy()))
	if err := c.wanted(c.report(), "webhook", "configurations", check.Failed, "the ValidatingWebhookConfiguration dogear.dev"); err != nil {
		c.Error(err)
	}
	v.ResourceVersion, v.UID = "", ""
	c.must(c.admin.Create(c.Context(), v))
}

func (c *cluster) emptyBundle() {
	c.spoil(func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
		m.Webhooks[0].ClientConfig.CABundle = nil
	},
		"CA bundle", check.Failed, "it is empty", "the controller puts it right")
}

// foreignBundle: the API server does not trust the webhook any more, so what it
// admits is not stamped.
func (c *cluster) foreignBundle() {
	foreign, _, err := cert.Next(nil, []string{"elsewhere.svc"}, time.Now(), cert.Policy{})
	c.must(err)
	distrust := func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
		m.Webhooks[0].ClientConfig.CABundle = foreign.CABundle()
	}
	c.spoil(distrust, "certificate", check.Failed, "API servers do not trust it", "unknown authority")
	c.spoil(distrust, "CA bundle", check.Warning, "not all webhooks have the same")
	restore := edit(c, configuration, &admissionregistrationv1.MutatingWebhookConfiguration{}, false, distrust)
	c.want("webhook", "stamps", check.Failed, []string{"certificates.cert-manager.io: not stamped", "fail_open_count"})
	restore()
}

func (c *cluster) expiredCertificate() {
	const day = 24 * time.Hour
	c.want("webhook", "certificate", check.Failed, []string{"expired at", "the controller renews it"}, in(8*day))
	c.want("webhook", "certificate", check.Warning, []string{"should have been renewed"}, in(6*day))
	c.want("webhook", "CA bundle", check.Failed, []string{"the authority expired"}, in(400*day))
	c.want("webhook", "certificate", check.Failed, []string{"begins at", "compare the clocks"}, in(-2*time.Hour))
}

// foreignKey: whoever has a pair goes on serving it, and nobody who starts has one.
func (c *cluster) foreignKey() {
	other, _, err := cert.Next(nil, []string{"elsewhere.svc"}, time.Now(), cert.Policy{})
	c.must(err)
	data, err := other.Data()
	c.must(err)
	restore := edit(c, c.key("dogear.dev-webhook"), &corev1.Secret{}, false, func(s *corev1.Secret) { s.Data[cert.KeyPrivateKey] = data[cert.KeyPrivateKey] })
	if err := c.wanted(c.report(), "webhook", "certificate", check.Failed, "Secret "+c.namespace+"/dogear.dev-webhook has no pair that can be served", "delete it"); err != nil {
		c.Error(err)
	}
	restore()
}

func (c *cluster) missingRule() {
	c.spoil(func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
		m.Webhooks[0].Rules[0].Resources = []string{"issuers"}
	}, "rules", check.Failed, "certificates.cert-manager.io, which ClusterHandlerSet certs declares")
	c.spoil(func(m *admissionregistrationv1.MutatingWebhookConfiguration) {
		m.Webhooks[0].Rules[0].Resources = append(m.Webhooks[0].Rules[0].Resources, "issuers")
	}, "rules", check.Warning, "issuers.cert-manager.io")
}

func (c *cluster) noEndpoints() {
	restore := edit(c, c.key("dogear-webhook"), &discoveryv1.EndpointSlice{}, false, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].Conditions.Ready = new(false)
	})
	c.want("webhook", "endpoints", check.Failed, []string{"has no ready endpoint, and 1 that are not ready", "dogear.dev/component=webhook"})
	restore()
}

// down: no leader, and objects pass without a stamp.
func (c *cluster) down() {
	c.stop()
	r := c.report()
	for _, want := range []struct {
		group, name, text string
	}{
		{"webhook", "refuses a wrong set", "a set that the webhook must refuse has passed"},
		{"webhook", "stamps", "certificates.cert-manager.io: not stamped"},
		{"controller", "leader", "the last leader has given it back"},
	} {
		if err := c.wanted(r, want.group, want.name, check.Failed, want.text); err != nil {
			c.Error(err)
		}
	}
	if err := c.wanted(r, "webhook", "certificate", check.OK, "as the Secret dogear.dev-webhook has it"); err != nil {
		c.Error(err)
	}
	c.setNotLookedAt()
	c.silentLeader()
	c.nobodyAnswers()
	c.somebodyElseAnswers()
	c.waitsForIt()
}

// nobodyAnswers at the address of the Service, and whoever asks may not read the
// Secret, as in 'helm test' behind a NetworkPolicy: what is told then is not to
// run what is running.
func (c *cluster) nobodyAnswers() {
	read := []string{"get", "list"}
	tester, err := c.cp.ServiceAccountConfig(c.Context(), c.namespace, "tester", rig.Rights{
		Cluster: []rbacv1.PolicyRule{{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}, Verbs: read}},
		Namespaced: map[string][]rbacv1.PolicyRule{c.namespace: {
			{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: read},
			{APIGroups: []string{""}, Resources: []string{"configmaps", "services"}, Verbs: read},
		}},
	})
	c.must(err)
	of := func(o *check.Options) { o.Config, o.Namespace = tester, c.namespace }
	if err := c.wanted(c.report(of), "webhook", "certificate", check.Skipped, "it cannot be seen from here", "run 'helm test'"); err != nil {
		c.Error(err)
	}
	c.Run("in the cluster", func(t *testing.T) {
		at := c.on(t)
		at.inCluster()
		if err := at.wanted(at.report(of), "webhook", "certificate", check.Skipped, c.address, "connection refused", "let it through a NetworkPolicy"); err != nil {
			t.Error(err)
		}
	})
}

// somebodyElseAnswers at the address of the Service, as from a laptop with a
// cluster of its own: only in the cluster that is of any interest.
func (c *cluster) somebodyElseAnswers() {
	listener, err := net.Listen("tcp", c.address)
	c.must(err)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	c.must(server.Listener.Close())
	server.Listener = listener
	server.StartTLS()
	defer server.Close()
	if err := c.wanted(c.report(), "webhook", "certificate", check.OK, "as the Secret dogear.dev-webhook has it"); err != nil {
		c.Error(err)
	}
	c.Run("in the cluster", func(t *testing.T) {
		at := c.on(t)
		at.inCluster()
		if err := at.wanted(at.report(), "webhook", "certificate", check.Failed, "API servers do not trust it (as "+c.address+" serves it)"); err != nil {
			t.Error(err)
		}
	})
}

// waitsForIt: --wait tells what it waits for, and ends when that is there.
func (c *cluster) waitsForIt() {
	checker, err := check.New(check.Options{Config: c.cp.AdminConfig(), Version: version})
	c.must(err)
	ctx, cancel := context.WithTimeout(c.Context(), settle)
	defer cancel()
	var told [][]string
	stop := func() {}
	report := checker.Wait(ctx, func(failures []string) {
		if told = append(told, failures); len(told) == 1 {
			stop = c.start()
		}
	})
	stop()
	if !report.OK() || len(told) == 0 || len(told[0]) < 3 {
		c.Errorf("told %q, and at the end %+v", told, report)
	}
}
