package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/sets"
)

// rbacOptions are the flags of dogear rbac.
type rbacOptions struct {
	status    string
	namespace string
	accounts  []string
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
the controller's ServiceAccount. For a HandlerSet that is enough; in an installation
without rights in the cluster nothing else will do.
The Job by which 'helm uninstall' releases the objects is bound as well: beside
X-controller it is X-uninstall, as the chart calls them, or what the settings of the
Dogear in the cluster say (uninstallAccount). Where neither can be, name both.

Resources that no set may name are refused, with the reason.`,
		Example: `  dogear rbac certificates.cert-manager.io | kubectl apply -f -

  # For a repository, without a cluster.
  dogear rbac services persistentvolumeclaims --status=true >roles.yaml

  # In one namespace only.
  dogear rbac certificates.cert-manager.io --namespace-role=shop --service-account=dogear/dogear-controller

  # The same, where ServiceAccounts have names of your own.
  dogear rbac certificates.cert-manager.io --namespace-role=shop --service-account=dogear/robot,dogear/remover`,
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
	flags.StringSliceVar(&o.accounts, "service-account", nil, "namespace/name of the controller's ServiceAccount, for --namespace-role, and of others that need the same; default: that of the Dogear in the cluster")
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
	if len(o.accounts) > 0 && o.namespace == "" {
		return wrongUsage("--service-account is for --namespace-role: a ClusterRole is not bound")
	}
	quiet()
	var names []schema.GroupResource
	for _, arg := range args {
		name, err := installation.ParseResource(arg)
		if err != nil {
			return usageError{err}
		}
		if reason := v1alpha1.Forbidden(name); reason != "" {
			return wrongUsage("no set may name %s: %s", name, reason)
		}
		if name == secrets {
			warn(cmd, "sets may name secrets only where the settings of Dogear say so: allowSecrets")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	status, err := statuses(cmd, target, o, names)
	if err != nil {
		return err
	}
	if o.namespace == "" && o.status == "auto" {
		warnConfined(cmd, target)
	}
	subjects, err := serviceAccounts(cmd.Context(), target, o)
	if err != nil {
		return err
	}
	var roles []runtime.Object
	for i, name := range names {
		if o.namespace == "" {
			roles = append(roles, sets.ResourceRole(name, status[i]))
			continue
		}
		role, binding := sets.NamespacedRole(o.namespace, name, status[i], subjects...)
		roles = append(roles, role, binding)
	}
	return printObjects(cmd.OutOrStdout(), o.output, roles)
}

// warnConfined says that ClusterRoles are of no use for the Dogear in the cluster,
// as far as that can be seen: whoever asks need not be able to.
func warnConfined(cmd *cobra.Command, target *cluster) {
	connection, err := target.connect()
	if err != nil {
		return
	}
	found, err := installation.Find(cmd.Context(), connection.Client, target.namespace)
	if err != nil {
		return
	}
	settings, err := found.Settings(cmd.Context(), connection.Client, namespacesSetting)
	if namespaces := settings[namespacesSetting]; err == nil && len(namespaces) > 0 {
		warn(cmd, "the Dogear in namespace %s works in %s alone, and a ClusterRole gives it nothing there: see --namespace-role", found.Namespace, strings.Join(namespaces, ", "))
	}
}

// serviceAccounts are those to which Roles are bound: those that are given, else
// the controller's; of one alone, the Job's that belongs to it, too.
func serviceAccounts(ctx context.Context, target *cluster, o rbacOptions) (subjects []rbacv1.Subject, err error) {
	if o.namespace == "" {
		return nil, nil
	}
	for _, text := range o.accounts {
		namespace, name, ok := strings.Cut(text, "/")
		if !ok || len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nil, wrongUsage("--service-account is %q: want namespace/name", text)
		}
		subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name})
	}
	switch len(subjects) {
	case 0:
		return findAccounts(ctx, target)
	case 1:
		return sets.WithUninstall(subjects[0], ""), nil
	}
	return subjects, nil
}

// Settings of the Dogear in the cluster that count here.
const (
	namespacesSetting = "namespaces"
	uninstallSetting  = "uninstallAccount" // names the second of the accounts
)

// findAccounts are those of the Dogear in the cluster.
func findAccounts(ctx context.Context, target *cluster) ([]rbacv1.Subject, error) {
	connection, err := target.connect()
	if err != nil {
		return nil, fmt.Errorf("%w; without a cluster, set --service-account", err)
	}
	found, err := installation.Find(ctx, connection.Client, target.namespace)
	if err == nil && found.ServiceAccount() == "" {
		err = fmt.Errorf("there is no controller in namespace %q", found.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("find the controller's ServiceAccount, or set --service-account: %w", err)
	}
	settings, err := found.Settings(ctx, connection.Client, uninstallSetting)
	if err != nil && !errors.Is(err, installation.ErrNoSettings) {
		return nil, fmt.Errorf("find the ServiceAccount that removes Dogear, or set --service-account to both: %w", err)
	}
	controller := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: found.Namespace, Name: found.ServiceAccount()}
	return sets.WithUninstall(controller, strings.Join(settings[uninstallSetting], "")), nil
}
