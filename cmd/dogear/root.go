package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
)

// environment is told by --help.
const environment = `Environment:
  DOGEAR_ASSETS        folder with the programs and CRDs that 'make controlplane'
                       has built; default: bin/ of the repository around the
                       working directory
  KUBEBUILDER_ASSETS   folder with etcd, kube-apiserver and kubectl, used first
  NO_COLOR             if set, no colours and no icons`

// errUsage is in the chain of errors in how the program was called.
var errUsage = errors.New("wrong usage")

// newRoot builds the command line. defaults are the demo's options that no flag
// sets.
func newRoot(stdout, stderr io.Writer, defaults demo.Options) *cobra.Command {
	root := &cobra.Command{
		Use:   "dogear",
		Short: "Run handlers on Kubernetes objects whose CRD you don't own",
		Long: `Dogear runs handlers on Kubernetes objects whose CRD you don't own. A webhook
marks each object at admission, a controller runs the handlers, and the place
reached is kept in annotations.

` + environment,
		Example: `  # See it at work: no cluster is needed.
  dogear demo

  # Complete commands in the shell.
  source <(dogear completion bash)`,
		Args:          unknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true, // main prints them
		SilenceUsage:  true, // the error says what to do
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w: see '%s --help'", errUsage, err, cmd.CommandPath())
	})
	root.AddCommand(newDemo(defaults), newOperator(), newVersion())
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
	return fmt.Errorf("%w: there is no command %q: %s", errUsage, args[0], hint)
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%w: %s takes no arguments, but got %q", errUsage, cmd.CommandPath(), args)
	}
	return nil
}
