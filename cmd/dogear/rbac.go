package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/yaml"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/sets"
)

// rbacOptions are the flags of dogear rbac.
type rbacOptions struct {
	status    string
	namespace string
	account   string
	output    string
}

func newRBAC() *cobra.Command {
	var (
		o      rbacOptions
		target *cluster
	)
	cmd := &cobra.Command{
		Use:   "rbac RESOURCE...",
		Short: "Print the roles that Dogear needs to handle resources",
		Long: `Prints a ClusterRole for each resource, with the label by which Dogear's controller
gets its rules: apply it, and sets may name the resource. It is the same that the
condition Permitted of a set has in its message.

A resource is named as in certificates.cert-manager.io, cert-manager.io/v1/certificates,
or services for one of the core group. The API server is asked whether it serves
it, and whether it has a status subresource, to which payloads are written;
--status=true or false spares the question, and no cluster is needed.

With --namespace-role it is a Role in that namespace, and a RoleBinding of it to
the controller's ServiceAccount: for an installation without rights in the cluster.`,
		Example: `  dogear rbac certificates.cert-manager.io | kubectl apply -f -

  # For a repository, without a cluster.
  dogear rbac services persistentvolumeclaims --status=true >roles.yaml

  # In one namespace only.
  dogear rbac certificates.cert-manager.io --namespace-role=shop --service-account=dogear/dogear-controller`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return wrongUsage("name a resource: dogear rbac certificates.cert-manager.io")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runRBAC(cmd, target, o, args) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false // what belongs together stays together
	flags.StringVar(&o.status, "status", "auto", "whether the resources have a status subresource: auto (ask the API server), true or false")
	flags.StringVar(&o.namespace, "namespace-role", "", "make Roles in this namespace, not ClusterRoles")
	flags.StringVar(&o.account, "service-account", "", "namespace/name of the controller's ServiceAccount, for --namespace-role; default: that of the Dogear in the cluster")
	flags.StringVarP(&o.output, "output", "o", "yaml", "yaml or json")
	target = addCluster(cmd)
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions([]string{"auto", "true", "false"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	completeOutput(cmd, "yaml", "json")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		return completeResources(cmd.Context(), target, args), cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

func runRBAC(cmd *cobra.Command, target *cluster, o rbacOptions, args []string) error {
	if err := wantOutput(o.output, "yaml", "json"); err != nil {
		return err
	}
	if !slices.Contains([]string{"auto", "true", "false"}, o.status) {
		return wrongUsage("--status is %q: want auto, true or false", o.status)
	}
	if o.account != "" && o.namespace == "" {
		return wrongUsage("--service-account is for --namespace-role: a ClusterRole is not bound")
	}
	quiet()
	var names []schema.GroupResource
	for _, arg := range args {
		name, err := installation.ParseResource(arg)
		if err != nil {
			return usageError{err}
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	status, err := statuses(cmd, target, o, names)
	if err != nil {
		return err
	}
	account, err := serviceAccount(cmd.Context(), target, o)
	if err != nil {
		return err
	}
	var roles []runtime.Object
	for i, name := range names {
		if o.namespace == "" {
			roles = append(roles, sets.ResourceRole(name, status[i]))
			continue
		}
		role, binding := sets.NamespacedRole(o.namespace, name, status[i], account)
		roles = append(roles, role, binding)
	}
	return printObjects(cmd.OutOrStdout(), o.output, roles)
}

// statuses tells of each resource whether it has a status subresource.
func statuses(cmd *cobra.Command, target *cluster, o rbacOptions, names []schema.GroupResource) ([]bool, error) {
	status := make([]bool, len(names))
	if o.status != "auto" {
		for i, name := range names {
			if status[i] = o.status == "true"; name.Resource != strings.ToLower(name.Resource) {
				return nil, wrongUsage("%q is no name of a resource, but of a kind: want it as in certificates.cert-manager.io", name.Resource)
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
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "dogear: warning: "+format+"\n", args...)
}

// serviceAccount is that of the controller, to which Roles are bound.
func serviceAccount(ctx context.Context, target *cluster, o rbacOptions) (account types.NamespacedName, err error) {
	switch namespace, name, ok := strings.Cut(o.account, "/"); {
	case o.namespace == "":
		return account, nil
	case o.account == "":
	case !ok || namespace == "" || name == "":
		return account, wrongUsage("--service-account is %q: want namespace/name", o.account)
	default:
		return types.NamespacedName{Namespace: namespace, Name: name}, nil
	}
	_, reader, err := target.connect()
	if err != nil {
		return account, fmt.Errorf("%w; without a cluster, set --service-account", err)
	}
	found, err := installation.Find(ctx, reader, target.namespace)
	if err == nil && found.ServiceAccount() == "" {
		err = fmt.Errorf("there is no controller in namespace %q", found.Namespace)
	}
	if err != nil {
		return account, fmt.Errorf("find the controller's ServiceAccount, or set --service-account: %w", err)
	}
	return types.NamespacedName{Namespace: found.Namespace, Name: found.ServiceAccount()}, nil
}

func readCatalog(ctx context.Context, target *cluster) (*installation.Catalog, error) {
	config, err := target.config()
	if err != nil {
		return nil, err
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up discovery: %w", err)
	}
	return installation.ReadCatalog(ctx, client)
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

// printObjects prints objects so that kubectl can apply them.
func printObjects(out io.Writer, output string, objects []runtime.Object) error {
	var text strings.Builder
	if output == "json" {
		if len(objects) == 1 {
			return encodeJSON(out, objects[0])
		}
		return encodeJSON(out, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	}
	for i, o := range objects {
		document, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("print the roles: %w", err)
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(document)
	}
	_, err := io.WriteString(out, text.String())
	return err
}
