package check_test

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/dogear-dev/dogear/controller/check"
	"github.com/dogear-dev/dogear/test/rig"
)

// TestCheck goes through the life of an installation, and does to it what may be
// done: each time the check that is about it says so, and once it is mended all
// is well again.
func TestCheck(t *testing.T) {
	c := newCluster(t)
	t.Run("nothing is installed", func(t *testing.T) { c.on(t).nothing() })
	c.install()
	t.Run("the CRDs are missing", func(t *testing.T) { c.on(t).noCRDs() })
	c.installCRDs()
	c.stop = c.start()
	t.Run("there is no set", func(t *testing.T) { c.on(t).noSets() })
	s := c.set("certs", `
resource: {group: cert-manager.io, version: v1, resource: certificates}
handlers: [{id: h, causes: [Create, Update, Delete], http: `+c.http()+`, retry: {initial: 100ms, max: 100ms}}]
`)
	c.awaitReady(s)
	for _, fault := range []struct {
		name    string
		provoke func(*cluster)
	}{
		{"a CRD of another release", (*cluster).otherCRD},
		{"a CRD that has stored another version", (*cluster).storedVersion},
		{"replicas that are missing", (*cluster).missingReplica},
		{"two releases in one namespace", (*cluster).twoReleases},
		{"Pods that restart", (*cluster).restartingPods},
		{"a right for a resource that is missing", (*cluster).missingRight},
		{"a base right that is missing", (*cluster).missingBaseRight},
		{"a Secret that the controller may not read", (*cluster).missingSecretRight},
		{"a configuration that was deleted", (*cluster).deletedConfiguration},
		{"an empty CA bundle", (*cluster).emptyBundle},
		{"a foreign CA", (*cluster).foreignBundle},
		{"a certificate that has expired", (*cluster).expiredCertificate},
		{"a key that does not fit", (*cluster).foreignKey},
		{"a resource that is not sent to the webhook", (*cluster).missingRule},
		{"a webhook without endpoints", (*cluster).noEndpoints},
		{"a clock that is ahead", (*cluster).clockAhead},
		{"a set that is not ready", (*cluster).setNotReady},
		{"an endpoint that is down", (*cluster).endpointDown},
		{"an object that is stuck in deletion", (*cluster).stuckObject},
		{"an object that is blocked", (*cluster).blockedObject},
		{"a handler that has failed for good", (*cluster).failedHandler},
		{"finalizers that are left over", (*cluster).leftovers},
		{"somebody without rights", (*cluster).powerless},
		{"samples", (*cluster).samples},
	} {
		t.Run(fault.name, func(t *testing.T) {
			at := c.on(t)
			fault.provoke(at)
			at.allGood()
		})
	}
	t.Run("the service is down", func(t *testing.T) { c.on(t).down() })
	c.stop = c.start()
	t.Run("the service is up again", func(t *testing.T) { c.on(t).allGood() })
}

func (c *cluster) nothing() {
	r := c.report()
	if err := c.wanted(r, "installation", "found", check.Failed, "helm install dogear"); err != nil {
		c.Error(err)
	}
	if r.Summary.Failed != 1 {
		c.Errorf("%d failures, want the one that matters: %+v", r.Summary.Failed, r)
	}
	if err := c.wanted(r, "webhook", "stamps", check.Skipped, "first mend installation: found"); err != nil {
		c.Error(err)
	}
}

func (c *cluster) noCRDs() {
	r := c.report()
	if err := c.wanted(r, "CRDs", "established", check.Failed, "handlersets.dogear.dev is missing", "helm upgrade --install dogear-crds"); err != nil {
		c.Error(err)
	}
	if err := c.wanted(r, "controller", "sets", check.Skipped, "their CRDs are missing"); err != nil {
		c.Error(err)
	}
}

func (c *cluster) crds() []*apiextensionsv1.CustomResourceDefinition {
	c.Helper()
	crds, err := rig.DogearCRDs()
	c.must(err)
	return crds
}

func (c *cluster) installCRDs() {
	c.Helper()
	c.must(c.cp.InstallCRDs(c.Context(), c.crds()...))
}

func (c *cluster) noSets() {
	c.want("controller", "sets", check.Skipped, []string{"there is none"})
	c.want("webhook", "refuses a wrong set", check.OK, nil)
	if r := c.report(); !r.OK() {
		c.Errorf("%+v", r)
	}
}
