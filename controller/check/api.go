package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/dogear-dev/dogear/controller/installation"
)

// oldest is the first release of Kubernetes that compares versions of objects,
// which Dogear depends on: docs/limits.md.
const oldest = "1.35"

func (r *round) apiChecks() []Check {
	return []Check{
		{Group: "API server", Name: "reachable", Link: "the-api-server-does-not-answer", Essential: true, Run: r.reachable},
		{Group: "API server", Name: "version", Link: "the-api-server-is-too-old", Run: r.serverVersion},
		{Group: "API server", Name: "APIs", Link: "an-api-is-not-served", Run: r.apis},
	}
}

func (r *round) reachable(ctx context.Context) Result {
	user, err := r.user(ctx)
	switch {
	case apierrors.IsUnauthorized(err):
		return failed("%s does not know who you are: %s", r.options.Config.Host, err).
			hint(installation.RenewKubeconfig)
	case err != nil:
		return failed("%s: %s", r.options.Config.Host, err).
			hint(installation.FindServer)
	}
	return passed("%s, as %s", r.options.Config.Host, user)
}

func (r *round) serverVersion(ctx context.Context) Result {
	info, err := r.discovery.ServerVersionWithContext(ctx)
	if err != nil {
		return r.unread(err)
	}
	have, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return skipped("the API server has no version that could be compared: %q", info.GitVersion)
	}
	if have.LessThan(version.MustParseGeneric(oldest)) {
		return failed("Kubernetes %s, but Dogear needs %s or later", info.GitVersion, oldest).
			hint("upgrade the cluster: earlier releases don't promise that versions of objects can be compared")
	}
	return passed("Kubernetes %s", info.GitVersion)
}

// used are the APIs that Dogear uses, of those that a cluster may lack.
var used = []struct{ version, resource string }{
	{"v1", "namespaces"},
	{"apps/v1", "deployments"},
	{"admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations"},
	{"admissionregistration.k8s.io/v1", "validatingwebhookconfigurations"},
	{"apiextensions.k8s.io/v1", "customresourcedefinitions"},
	{"authentication.k8s.io/v1", "selfsubjectreviews"},
	{"authorization.k8s.io/v1", "selfsubjectaccessreviews"},
	{"coordination.k8s.io/v1", "leases"},
	{"events.k8s.io/v1", "events"},
}

func (r *round) apis(ctx context.Context) Result {
	lists := map[string][]string{}
	var missing []string
	for _, api := range used {
		names, known := lists[api.version]
		if !known {
			list, err := r.discovery.ServerResourcesForGroupVersionWithContext(ctx, api.version)
			if err != nil && !apierrors.IsNotFound(err) {
				return r.unread(err)
			}
			if err == nil {
				for i := range list.APIResources {
					names = append(names, list.APIResources[i].Name)
				}
			}
			lists[api.version] = names
		}
		if !slices.Contains(names, api.resource) {
			missing = append(missing, fmt.Sprintf("%s in %s", api.resource, api.version))
		}
	}
	if len(missing) > 0 {
		return failed("not served: %s", strings.Join(missing, ", ")).
			hint("see the --runtime-config of the API server, and 'kubectl get apiservices': Dogear cannot do without them")
	}
	return passed("all that Dogear uses are served")
}
