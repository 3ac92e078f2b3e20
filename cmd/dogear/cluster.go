package main

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/webhook"
)

// namespaceVariable names the namespace of Dogear where no flag does. The chart
// sets it in its Pods.
const namespaceVariable = "DOGEAR_NAMESPACE"

// cluster has the flags of commands that work on a cluster.
type cluster struct {
	kubeconfig, context string
	// as is who is impersonated; empty: nobody.
	as string
	// namespace is that of Dogear; empty: it is to be found.
	namespace string
}

// addCluster gives a command the flags, and tells the variables that count where
// they are left out. more are others that count for it.
func addCluster(cmd *cobra.Command, more ...string) *cluster {
	c := &cluster{}
	tellEnvironment(cmd, append([]string{clusterEnvironment}, more...)...)
	flags := cmd.Flags()
	flags.StringVar(&c.kubeconfig, "kubeconfig", "", "kubeconfig file of the API server; default: $KUBECONFIG, else ~/.kube/config, else the Pod's ServiceAccount")
	flags.StringVar(&c.context, "context", "", "context of the kubeconfig; default: the current one")
	flags.StringVar(&c.as, "as", "", "who to act as, if you may impersonate, as with kubectl: system:serviceaccount:NAMESPACE:NAME")
	flags.StringVarP(&c.namespace, "namespace", "n", os.Getenv(namespaceVariable), "namespace of Dogear; default: $"+namespaceVariable+", else it is looked for")
	flags.Lookup("namespace").DefValue = "" // what the environment says is no default of the program
	_ = cmd.MarkFlagFilename("kubeconfig")
	_ = cmd.RegisterFlagCompletionFunc("context", c.contexts) // the flag exists
	return c
}

// config is how to reach the API server.
func (c *cluster) config() (*rest.Config, error) {
	config, err := c.loader().ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, fmt.Errorf("no cluster is known: set --kubeconfig or KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if c.as != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: c.as}
	}
	config.QPS = -1 // the API server's priority and fairness paces requests
	config.UserAgent = webhook.FieldManager + "/cli"
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config, nil
}

// connect makes a connection whose client knows Dogear's kinds.
func (c *cluster) connect() (*installation.Connection, error) {
	config, err := c.config()
	if err != nil {
		return nil, err
	}
	scheme := controller.DefaultScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return installation.Connect(config, scheme)
}

func (c *cluster) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: c.context})
}

// contexts completes the name of a context.
func (c *cluster) contexts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	file, err := c.loader().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(file.Contexts)), cobra.ShellCompDirectiveNoFileComp
}
