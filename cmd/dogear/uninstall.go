package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/dogear-dev/dogear/controller/uninstall"
)

// uninstallOptions are the flags of dogear uninstall.
type uninstallOptions struct {
	uninstall.Options
	yes     bool
	timeout time.Duration
	output  string
}

func newUninstall() *cobra.Command {
	var (
		o      uninstallOptions
		target *cluster
	)
	cmd := &cobra.Command{
		Use:   "uninstall",
		Short: "Remove Dogear from a cluster so that nothing gets stuck",
		Long: `Removes what Dogear has left in a cluster, in this order:

  1. the webhook configurations dogear.dev are deleted;
  2. the Deployments of Dogear are scaled to 0, and their end is awaited; a
     controller that runs outside of the cluster has to be stopped by you;
  3. the finalizer dogear.dev/finalizer is taken off all objects of the kinds
     that the ledger and the sets name, and of no others; other finalizers stay;
  4. the finalizer of the sets is taken off: they stay as data, with their CRDs, and
     with Ready=Unknown for the reason Uninstalled;
  5. Dogear's Lease, Secrets and ledger are deleted.

Payloads in .status stay. So do annotations, unless --remove-markers takes off all
that begin with dogear.dev/, those that you have set included; annotations of
operators made with the SDK have other prefixes and are not touched.

With --namespaces that is all that is looked at, and nothing outside of these
namespaces: they have to be all in which this Dogear works. One that works in the
whole cluster is refused, as is a namespace that isn't there.

Before anything is changed, one object is asked for of each kind on which something
may be. Where the rights for that are missing nothing is done, and the result says for
what; --incomplete goes on nevertheless. A kind that is only named by sets which were
never in force needs none.

An object that the API server refuses to change holds up no other: it is listed,
with the reason, and its Dogear state stays known for the next run. A run that was
interrupted is finished by another. 'helm uninstall' runs this command before
anything else; it works as well when the release, the CRDs or the rights of
Dogear are gone, with the rights of whoever runs it.

The exit status is 0 if nothing is left, 1 if something is, 2 for wrong usage.`,
		Example: `  # What would happen? Objects that would be refused are named.
  dogear uninstall --dry-run

  # Would the rights of somebody else do?
  dogear uninstall --dry-run -n dogear --as=system:serviceaccount:ci:deployer

  dogear uninstall

  # The release is gone, and nobody knows what it has handled.
  dogear uninstall --all-resources

  # An installation without rights in the cluster.
  dogear uninstall -n dogear --namespaces=shop,bank

  # Move Dogear to another namespace or release: all state stays.
  dogear uninstall --keep-state -n dogear

  # What is left, and why?
  dogear uninstall --yes -o json | jq '.left[]'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runUninstall(cmd, target, o) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false // what belongs together stays together
	flags.BoolVar(&o.DryRun, "dry-run", false, "tell what would be done, and change nothing")
	flags.BoolVar(&o.yes, "yes", false, "do not ask first")
	flags.BoolVar(&o.KeepState, "keep-state", false, "end after step 2: objects, sets and the ledger stay for an installation that goes on")
	flags.BoolVar(&o.RemoveMarkers, "remove-markers", false, "take all annotations dogear.dev/... off objects, too")
	flags.BoolVar(&o.AllResources, "all-resources", false, "look through all resources that the API server serves")
	flags.BoolVar(&o.Incomplete, "incomplete", false, "go on although objects cannot be looked at, for lack of rights, on which something may be; it is left")
	flags.StringSliceVar(&o.Namespaces, "namespaces", nil, "look into these namespaces only: all those of an installation without rights in the cluster")
	flags.StringVar(&o.Release, "release", "", "change nothing if a Helm release of another name runs in the same namespace, too; default: all Deployments there are stopped")
	flags.DurationVar(&o.timeout, "timeout", 10*time.Minute, "give up after this time")
	flags.StringVarP(&o.output, "output", "o", "text", "text or json; progress is on stderr")
	target = addCluster(cmd)
	completeOutput(cmd, "text", "json")
	return cmd
}

func runUninstall(cmd *cobra.Command, target *cluster, o uninstallOptions) error {
	if err := wantOutput(o.output, "text", "json"); err != nil {
		return err
	}
	switch {
	case o.timeout <= 0:
		return wrongUsage("--timeout is %s: want more than 0", o.timeout)
	case cmd.Flags().Changed("namespaces") && len(o.Namespaces) == 0:
		return wrongUsage("--namespaces is empty: name those in which Dogear works, or leave it out")
	case o.KeepState && (o.RemoveMarkers || o.AllResources || o.Incomplete):
		return wrongUsage("--keep-state leaves objects as they are: leave out --remove-markers, --all-resources and --incomplete")
	}
	if err := uninstall.CheckNamespaces(o.Namespaces); err != nil {
		return wrongUsage("--namespaces: %w", err)
	}
	toAsk := !o.yes && !o.DryRun
	if toAsk && !isTerminal(cmd.InOrStdin()) {
		return wrongUsage("nobody can be asked, as stdin is no terminal: add --yes, or --dry-run")
	}
	quiet()
	config, err := target.config()
	if err != nil {
		return err
	}
	if toAsk {
		if err := ask(cmd.InOrStdin(), cmd.ErrOrStderr(), "Remove Dogear from "+config.Host+"?"); err != nil {
			return err
		}
	}
	o.Config, o.Namespace = config, target.namespace
	o.Report = func(e uninstall.Event) { _, _ = fmt.Fprintln(cmd.ErrOrStderr(), e) }
	ctx, cancel := context.WithTimeoutCause(cmd.Context(), o.timeout, fmt.Errorf("not done within %s (see --timeout)", o.timeout))
	defer cancel()
	result, err := uninstall.Run(ctx, o.Options)
	if result == nil {
		return err
	}
	return errors.Join(printResult(cmd, o.output, result), err)
}

func isTerminal(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ask goes on with yes only.
func ask(in io.Reader, out io.Writer, question string) error {
	_, _ = fmt.Fprint(out, question, " [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed")
}
