package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/dogear-dev/dogear/controller/installation"
)

var (
	secrets = schema.GroupResource{Resource: "secrets"}
	// core are the resources of the core group whose objects can be handled. No
	// more are added to that group.
	core = []string{
		"configmaps", "endpoints", "limitranges", "namespaces", "nodes", "persistentvolumeclaims", "persistentvolumes", "pods",
		"podtemplates", "replicationcontrollers", "resourcequotas", "secrets", "serviceaccounts", "services",
	}
)

// statuses tells of each resource whether it has a status subresource.
func statuses(cmd *cobra.Command, target *cluster, o rbacOptions, names []schema.GroupResource) ([]bool, error) {
	status := make([]bool, len(names))
	if o.status != "auto" {
		for i, name := range names {
			if status[i] = o.status == "true"; name.Resource != strings.ToLower(name.Resource) {
				return nil, wrongUsage("%q is no name of a resource, but of a kind: want it as in certificates.cert-manager.io", name.Resource)
			}
			if name.Group == "" && !slices.Contains(core, name.Resource) {
				warn(cmd, "the core group has no %s: want the group, too, as in certificates.cert-manager.io, and no short name", name.Resource)
			}
		}
		return status, nil
	}
	catalog, err := readCatalog(cmd.Context(), target)
	if err != nil {
		return nil, fmt.Errorf("%w; without a cluster, set --status", err)
	}
	for i, name := range names {
		served := catalog.Find(name)
		silent := catalog.Silent[name.Group]
		switch like := catalog.Like(name); {
		case served != nil && o.namespace != "" && !served.Namespaced:
			return nil, wrongUsage("objects of %s are in no namespace: leave out --namespace-role", name)
		case served != nil:
			status[i] = served.Status
			if !served.Writable() {
				warn(cmd, "%s cannot be listed and patched, so its objects cannot be handled", name)
			}
		case len(like) > 0:
			return nil, wrongUsage("the API server does not serve %s: did you mean %s?", name, join(like))
		case name.Resource != strings.ToLower(name.Resource):
			return nil, wrongUsage("the API server serves no kind %s: want the name of a resource as in certificates.cert-manager.io", name)
		default:
			status[i] = true
			why := "does not serve " + name.String()
			if silent != "" {
				why = "cannot tell whether it serves " + name.String()
			}
			warn(cmd, "the API server %s (now): the role has rights for its status, too; see --status", why)
		}
	}
	return status, nil
}

func join(like []*installation.Served) string {
	var names []string
	for _, s := range like {
		names = append(names, s.String())
	}
	return strings.Join(names, " or ")
}

func warn(cmd *cobra.Command, format string, args ...any) {
	_, _ = fmt.Fprintln(cmd.ErrOrStderr(), "dogear: warning:", printable(fmt.Sprintf(format, args...)))
}

func readCatalog(ctx context.Context, target *cluster) (*installation.Catalog, error) {
	connection, err := target.connect()
	if err != nil {
		return nil, err
	}
	return installation.ReadCatalog(ctx, connection.Discovery)
}

// completeTimeout is how long somebody who presses Tab waits for a cluster.
const completeTimeout = 3 * time.Second

func completeResources(ctx context.Context, target *cluster, args []string) (names []string) {
	ctx, cancel := context.WithTimeout(ctx, completeTimeout)
	defer cancel()
	catalog, err := readCatalog(ctx, target)
	if err != nil {
		return nil
	}
	for i := range catalog.All {
		if name := catalog.All[i].String(); catalog.All[i].Writable() && !slices.Contains(args, name) {
			names = append(names, name)
		}
	}
	return names
}
