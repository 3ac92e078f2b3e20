// Package chart installs the service by its Helm chart, with real helm, on a
// real control plane, and runs its Pods as they say: with their own arguments,
// ServiceAccounts, settings, certificates and Services.
package chart

import (
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dogear-dev/dogear/test/rig"
	"github.com/dogear-dev/dogear/test/rig/node"
	"github.com/dogear-dev/dogear/test/rig/rigtest"
)

// auditPolicy has the API server write down what ServiceAccounts ask for.
const auditPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts"]}
- {level: None}
`

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	rigtest.Main(m, rigtest.WithCertManagerCRDs(), rigtest.With(func(o *rig.Options) {
		o.ControllerManager, o.Controllers = true, node.Controllers
		o.AuditPolicy = auditPolicy
	}))
}
