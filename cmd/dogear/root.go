package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
)

// What --help tells of the environment, each where it counts.
const (
	serverEnvironment  = `  KUBECONFIG           kubeconfig files, where --kubeconfig names none`
	clusterEnvironment = serverEnvironment + `
  ` + namespaceVariable + `     namespace of Dogear, where -n names none`
	settingsEnvironment = `  DOGEAR_CONFIG        file with settings, where --config names none
  DOGEAR_*             any setting, where no flag sets it: DOGEAR_WEBHOOK_SERVICE
                       is --webhook-service; one that is none is an error`
	demoEnvironment = `  DOGEAR_ASSETS        folder with the programs and CRDs that 'make controlplane'
                       has built; default: bin/ of the repository around the
                       working directory
  KUBEBUILDER_ASSETS   folder with etcd, kube-apiserver and kubectl, used first`
	colorEnvironment = `  NO_COLOR             if set, no colours and no icons`
)

// tellEnvironment adds to what --help says.
func tellEnvironment(cmd *cobra.Command, variables ...string) {
	cmd.Long += "\n\nEnvironment:\n" + strings.Join(variables, "\n")
}

// usageError is an error in how the program was called.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func wrongUsage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// newRoot builds the command line. defaults are the demo's options that no flag
// sets.
func newRoot(stdout, stderr io.Writer, defaults demo.Options) *cobra.Command {
	root := &cobra.Command{
		Use:   "dogear",
		Short: "Run handlers on Kubernetes objects whose CRD you don't own",
		Long: `Dogear runs handlers on Kubernetes objects whose CRD you don't own. A webhook
marks each object at admission, a controller runs the handlers, and the place
reached is kept in annotations.`,
		Example: `  # See it at work: no cluster is needed.
  dogear demo

  # Run the service, as the chart does in a cluster.
  dogear run --namespace=dogear --webhook-service=dogear

  # Complete commands in the shell.
  source <(dogear completion bash)`,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true, // main prints them
		SilenceUsage:  true, // the error says what to do
	}
	tellEnvironment(root, clusterEnvironment, settingsEnvironment, demoEnvironment, colorEnvironment)
	root.SuggestionsMinimumDistance = 2
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return wrongUsage("%w: see '%s --help'", err, cmd.CommandPath())
	})
	root.AddCommand(newRun(), newCheck(), newUninstall(), newRBAC(), newMigrate(), newDemo(defaults), newHook(), newVersion())
	return root
}

// unknownCommand names commands that are like the one asked for.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	hint := fmt.Sprintf("see '%s --help'", cmd.CommandPath())
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		hint = fmt.Sprintf("did you mean %q?", like[0])
	}
	return wrongUsage("there is no command %q: %s", args[0], hint)
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return wrongUsage("%s takes no arguments, but got %q", cmd.CommandPath(), args)
	}
	return nil
}
