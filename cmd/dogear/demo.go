package main

import (
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
)

func newDemo(options demo.Options) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show Dogear at work on an embedded control plane",
		Long: `Starts etcd and kube-apiserver on this machine, installs cert-manager's CRDs,
and runs a controller and a webhook as two processes, each with the rights it
needs and no more. An ordinary user then creates Certificates and Services:
one handler fails twice before it succeeds, one fails for good, one is slow,
and one cleans up after an object that is deleted. Nothing outside of a
temporary folder is touched.

On a terminal a table shows where each handler stands, elsewhere there is a
line per change. All of it is read from the objects' annotations.

The exit status is 0 if every object ended as expected, 1 if one did not or
something else failed, 2 for wrong usage, 130 after Ctrl-C.

` + environment,
		Example: `  dogear demo

  # Leave all running, to look around with kubectl until Ctrl-C.
  dogear demo --keep

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
	flags := cmd.Flags()
	flags.StringVarP(&output, "output", "o", "text", "text, or json: one document at the end, progress on stderr")
	flags.BoolVar(&options.Keep, "keep", false, "leave all running at the end, until Ctrl-C")
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

// newOperator runs a part of the demo's operator; the demo calls it.
func newOperator() *cobra.Command {
	var options demo.OperatorOptions
	cmd := &cobra.Command{
		Use:    demo.OperatorCommand,
		Short:  "Run a part of the demo's operator",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options.Log = zap.New(zap.WriteTo(cmd.ErrOrStderr())).WithName(options.Role)
			ctrl.SetLogger(options.Log)
			klog.SetLogger(options.Log)
			return demo.RunOperator(demo.UntilEOF(cmd.Context(), cmd.InOrStdin()), options)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&options.Role, "role", "", "controller or webhook")
	flags.StringVar(&options.Kubeconfig, "kubeconfig", "", "kubeconfig with the own token")
	flags.StringVar(&options.Name, "name", "demo", "name of the demo")
	flags.StringVar(&options.Address, "address", "", "where the webhook listens")
	flags.StringVar(&options.Metrics, "metrics", "", "where metrics are served")
	return cmd
}
