package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/controller/migrate"
)

func newMigrate() *cobra.Command {
	var (
		target  *cluster
		timeout time.Duration
		output  string
	)
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring stored sets to the version that their CRDs store now",
		Long: `Has the API server store all ClusterHandlerSets and HandlerSets anew where some may
still be stored in an older version, and then says so in their CRDs
(status.storedVersions). Until that is done, a release cannot drop the older
version from the CRDs. Nothing about the sets changes.

With the chart this is done after each upgrade if crds.migrate is true, which it is
not by default. Nothing to do is a success.

The exit status is 0 if all is stored as the CRDs say, 1 if not, 2 for wrong usage.`,
		Example: `  dogear migrate

  # Are older versions still stored?
  kubectl get crd clusterhandlersets.dogear.dev handlersets.dogear.dev \
    -o custom-columns='NAME:.metadata.name,STORED:.status.storedVersions'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := wantOutput(output, "text", "json"); err != nil {
				return err
			}
			if timeout <= 0 {
				return wrongUsage("--timeout is %s: want more than 0", timeout)
			}
			quiet()
			config, err := target.config()
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), timeout, fmt.Errorf("not done within %s (see --timeout)", timeout))
			defer cancel()
			result, err := migrate.Run(ctx, migrate.Options{
				Config: config, Report: func(text string) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), installation.Printable(text)) },
			})
			if result == nil {
				return err
			}
			return errors.Join(printResult(cmd, output, result), err)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false // what belongs together stays together
	flags.DurationVar(&timeout, "timeout", 5*time.Minute, "give up after this time")
	flags.StringVarP(&output, "output", "o", "text", "text or json; progress is on stderr")
	target = addCluster(cmd)
	completeOutput(cmd, "text", "json")
	return cmd
}
