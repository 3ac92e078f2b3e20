package main

import (
	"context"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
	"github.com/dogear-dev/dogear/cmd/dogear/demo/hook"
)

func newDemo(options demo.Options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show Dogear at work on an embedded control plane",
		Long: `Starts etcd and kube-apiserver on this machine, installs the CRDs of
cert-manager and of Dogear, and runs the service as it would run in a cluster:
controller and webhook as two processes, each with the rights it needs and no
more. Two endpoints, processes as well, stand behind Services, and
ClusterHandlerSets say what they are called for. An ordinary user then creates
Certificates and Services: one handler fails twice before it succeeds, one
fails for good, one is slow, and one cleans up after an object that is deleted.
Nothing outside of a temporary folder is touched.

On a terminal a table shows where each handler stands, elsewhere there is a
line per change. All of it is read from the objects' annotations.

The exit status is 0 if every object ended as expected, 1 if one did not or
something else failed, 2 for wrong usage, 130 after Ctrl-C.`,
		Example: `  dogear demo

  # Leave all running, to look around with kubectl until Ctrl-C.
  dogear demo --keep

  # A control plane without Dogear, to go through docs/service.md.
  dogear demo --bare

  # One JSON document with everything.
  dogear demo -o json | jq .runs`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case "text":
			case "json":
				options.JSON = true
			default:
				return wrongUsage("--output is %q: want text or json", output)
			}
			if options.Bare && options.JSON {
				return wrongUsage("--bare makes no report: leave out --output=json")
			}
			if options.Timeout <= 0 {
				return wrongUsage("--timeout is %s: want more than 0", options.Timeout)
			}
			quiet()
			options.Stdout, options.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
			if f, ok := options.Stdout.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
				options.Color = os.Getenv("NO_COLOR") == ""
				options.Size = func() (columns, lines int) {
					columns, lines, err := term.GetSize(int(f.Fd()))
					if err != nil || columns < 1 {
						return 80, 24
					}
					return columns, lines
				}
			}
			return demo.Run(cmd.Context(), options)
		},
	}
	tellEnvironment(cmd, demoEnvironment, colorEnvironment)
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "text", "text, or json: one document at the end, progress on stderr")
	flags.BoolVar(&options.Keep, "keep", false, "leave all running at the end, until Ctrl-C")
	flags.BoolVar(&options.Bare, "bare", false, "start the control plane alone, with the CRDs of cert-manager, until Ctrl-C: to try things")
	flags.DurationVar(&options.Timeout, "timeout", demo.DefaultTimeout, "give up after this time")
	flags.StringVar(&options.Dir, "dir", "", "folder for data, kubeconfigs and logs, new or empty (default: a temporary one, removed if all went well)")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// quiet keeps the logs of libraries off the screen.
func quiet() {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
}

// newHook runs an endpoint of the demo; the demo calls it.
func newHook() *cobra.Command {
	var options hook.Options
	cmd := &cobra.Command{
		Use:    demo.HookCommand,
		Short:  "Run an endpoint of the demo",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Key = os.Getenv(demo.KeyVariable)
			return hook.Serve(lifeline(cmd), options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Address, "address", "", "where to listen")
	flags.StringVar(&options.CertificateFile, "certificate", "", "file with the certificate")
	flags.StringVar(&options.KeyFile, "private-key", "", "file with its key")
	return cmd
}

// lifeline is the context of a command. Where the demo has started it, it ends
// with the demo, however that ends.
func lifeline(cmd *cobra.Command) context.Context {
	if os.Getenv(demo.LifelineVariable) == "" {
		return cmd.Context()
	}
	return demo.UntilEOF(cmd.Context(), cmd.InOrStdin())
}
