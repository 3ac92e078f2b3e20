package main

import (
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"os"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"go.uber.org/zap/zapcore"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/config/v1alpha1"
	"github.com/dogear-dev/dogear/controller/sets"
)

func newRun() *cobra.Command {
	var (
		kubeconfig string
		show       bool
		loader     *config.Loader
	)
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the service: handlers and defaults that HandlerSets declare",
		Long: `Watches ClusterHandlerSets and HandlerSets, and does what they declare: calls
their endpoints for the objects that they select, keeps the handlers' progress
in annotations, and fills in their defaults at admission.

Settings come from a YAML file (--config), from the environment (DOGEAR_*) and
from flags; the later go before the earlier. --show-settings prints what comes
of them, and where each was set.

The API server is that of --kubeconfig, else of KUBECONFIG, else that of the
Pod, else of ~/.kube/config. At SIGTERM the process lets calls under way end and
writes what came of them, within the grace period; a second one ends it at once.
It ends with status 1 when it can't start or has lost its Lease, to be started
again.`,
		Example: `  # In a Pod: one process for all, reached by the Service dogear.
  dogear run --namespace=dogear --webhook-service=dogear

  # On your machine against a cluster of your own, without a webhook.
  dogear run --leader-elect=false

  # What would the settings be?
  DOGEAR_WORKERS=32 dogear run --config=dogear.yaml --show-settings`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := loader.Load(os.Environ())
			if err != nil {
				return usageError{err}
			}
			if show {
				return settings.Print(cmd.OutOrStdout())
			}
			return runService(cmd, settings.Settings, kubeconfig)
		},
	}
	tellEnvironment(cmd, serverEnvironment, settingsEnvironment)
	cmd.Flags().SortFlags = false // what belongs together stays together
	loader = config.Register(cmd.Flags())
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file of the API server; default: $KUBECONFIG, else the Pod's ServiceAccount, else ~/.kube/config")
	cmd.Flags().BoolVar(&show, "show-settings", false, "print the settings with their sources, and end")
	_ = cmd.MarkFlagFilename("kubeconfig")
	_ = cmd.MarkFlagFilename("config", "yaml", "yml")
	for flag, words := range map[string][]string{
		"roles": {config.RoleController, config.RoleWebhook}, "log-level": {"debug", "info", "error"}, "log-format": {"json", "console"},
	} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	}
	return cmd
}

func runService(cmd *cobra.Command, settings config.Settings, kubeconfig string) error {
	log, err := newLog(cmd, settings.Log)
	if err != nil {
		return err
	}
	server, err := clientConfig(kubeconfig) // before the log: what was looked for in vain is in the error
	if err != nil {
		return err
	}
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	stdlog.SetOutput(io.Discard) // net/http writes what endpoints send out of turn
	version := readBuild().Version
	log.Info("Starting", "version", version, "roles", settings.Roles)
	if !settings.Webhook.Enabled() {
		log.Info("No webhook is set (webhook.service or webhook.url): defaults of sets are not filled in")
	}
	service, err := sets.New(sets.Options{Settings: settings, Config: server, Log: log, Version: version})
	if err != nil {
		return err
	}
	return explain(service.Start(lifeline(cmd)))
}

// installCRDs is said to people in a cluster, and to those who have a working
// copy of the repository and no chart.
const installCRDs = "have the chart dogear make them (crds.enabled), or helm upgrade --install dogear-crds oci://ghcr.io/dogear-dev/charts/dogear-crds; " +
	"in the repository: kubectl apply --server-side -f charts/dogear/files/crds"

// explain tells of errors of the start what to do.
func explain(err error) error {
	if missing := (&meta.NoKindMatchError{}); errors.As(err, &missing) && missing.GroupKind.Group == v1alpha1.GroupVersion.Group {
		return fmt.Errorf("the CRDs of Dogear are not in the cluster: %s (%w)", installCRDs, err)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: see --metrics-address, --health-address, --webhook-address and --callback-address", err)
	}
	return err
}

// clientConfig tells how to reach the API server of a kubeconfig; without one it
// is looked for.
func clientConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := ctrl.GetConfig()
		if clientcmd.IsEmptyConfig(err) {
			return nil, errors.New("no cluster is known: set --kubeconfig or KUBECONFIG, or run in a Pod")
		}
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	return config, nil
}

func newLog(cmd *cobra.Command, o config.Log) (logr.Logger, error) {
	level, err := zapcore.ParseLevel(o.Level)
	if err != nil {
		return logr.Logger{}, usageError{err}
	}
	options := []zap.Opts{zap.WriteTo(cmd.ErrOrStderr()), zap.Level(level), zap.StacktraceLevel(zapcore.PanicLevel)}
	if o.Format == "console" {
		options = append(options, zap.ConsoleEncoder(func(c *zapcore.EncoderConfig) { c.EncodeTime = zapcore.RFC3339TimeEncoder }))
	}
	return zap.New(options...).WithName("dogear"), nil
}
