package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/dogear-dev/dogear/controller/check"
	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/storage"
)

// checkOptions are the flags of dogear check.
type checkOptions struct {
	wait         bool
	tolerateSets bool
	timeout      time.Duration
	file, domain string
	output       string
}

func newCheck() *cobra.Command {
	var (
		o      checkOptions
		target *cluster
	)
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Find out what is wrong with an installation, and what to do",
		Long: `Looks at the API server, the CRDs, the Deployments, rights, the webhook and its
certificate, the leader, sets and objects, and says what is wrong with each and
what to do about it. It changes nothing: that the webhook is called is found out
by dry runs. For those an object is copied that the sets select; --object names
another one.

A check that you lack the rights for is skipped, and says which. A warning is no
failure. With --tolerate-sets what is wrong with sets alone is one, too: a set that
names a resource without rights, or an object that a handler holds, says nothing of
the installation. In a cluster, 'helm test' runs this command.

The exit status is 0 if no check has failed, 1 if one has, 2 for wrong usage.`,
		Example: `  dogear check

  # After an installation or an upgrade: until all is well.
  dogear check --wait --timeout=3m

  # What fails?
  dogear check -o json | jq '.groups[].checks[] | select(.result == "failed")'

  # An operator that was made with the SDK, as far as it can be told from outside.
  dogear check --domain=certs.example.com -n my-operator`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runCheck(cmd, target, o) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false // what belongs together stays together
	flags.BoolVar(&o.wait, "wait", false, "check again and again until nothing fails, or the time is over; what is waited for is on stderr")
	flags.DurationVar(&o.timeout, "timeout", 5*time.Minute, "give up after this time")
	flags.BoolVar(&o.tolerateSets, "tolerate-sets", false, "what is wrong with sets and the objects that they select is a warning, and no failure")
	flags.StringVar(&o.file, "object", "", "YAML or JSON file with objects that sets select, or lists of them, to be created in dry runs; -: stdin")
	flags.StringVar(&o.domain, "domain", "", "check the operator with this domain, made with the SDK, and not the service; with -n")
	flags.StringVarP(&o.output, "output", "o", "text", "text or json")
	target = addCluster(cmd, colorEnvironment)
	_ = cmd.MarkFlagFilename("object", "yaml", "yml", "json")
	completeOutput(cmd, "text", "json")
	return cmd
}

func runCheck(cmd *cobra.Command, target *cluster, o checkOptions) error {
	if err := wantOutput(o.output, "text", "json"); err != nil {
		return err
	}
	if o.timeout <= 0 {
		return wrongUsage("--timeout is %s: want more than 0", o.timeout)
	}
	quiet()
	objects, err := readObjects(o.file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if _, err := storage.PrefixFor(o.domain); o.domain != "" && err != nil {
		return wrongUsage("--domain: %w", err)
	}
	config, err := target.config()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), o.timeout)
	defer cancel()
	checker, err := check.New(check.Options{
		Config: installation.Until(ctx, config), Namespace: target.namespace, Domain: o.domain, Objects: objects,
		TolerateSets: o.tolerateSets, Version: readBuild().Version,
	})
	if err != nil {
		return err
	}
	var report *check.Report
	if o.wait {
		report = checker.Wait(ctx, func(failures []string) { tellFailures(cmd.ErrOrStderr(), failures) })
	} else {
		report = checker.Run(ctx)
	}
	if err := context.Cause(cmd.Context()); err != nil {
		return err // a signal
	}
	if err := printReport(cmd.OutOrStdout(), report, o.output); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	if !report.OK() {
		return fmt.Errorf("%d of the checks failed", report.Summary.Failed)
	}
	return nil
}

func printReport(out io.Writer, report *check.Report, output string) error {
	if output == "json" {
		return encodeJSON(out, report)
	}
	f, ok := out.(*os.File)
	terminal := ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
	return report.Text(out, check.Style{Color: terminal && os.Getenv("NO_COLOR") == ""})
}

// tellFailures says what is waited for.
func tellFailures(out io.Writer, failures []string) {
	for i, failure := range failures {
		begin := "waiting for "
		if i > 0 {
			begin = "        and "
		}
		_, _ = fmt.Fprintln(out, begin+failure)
	}
}

// readObjects reads the documents of a file; none without one.
func readObjects(name string, stdin io.Reader) (objects []*unstructured.Unstructured, err error) {
	var text []byte
	switch name {
	case "":
		return nil, nil
	case "-":
		text, err = io.ReadAll(stdin)
	default:
		text, err = os.ReadFile(name) //nolint:gosec // the user names it
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("--object: %w", err)}
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, wrongUsage("--object %s: %w", name, err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			return nil, wrongUsage("--object %s: %w", name, err)
		}
		if len(o.Object) == 0 {
			continue
		}
		if objects, err = appendObjects(objects, o); err != nil {
			return nil, wrongUsage("--object %s: %w", name, err)
		}
	}
	if len(objects) == 0 {
		return nil, wrongUsage("--object %s: there is no object in it", name)
	}
	return objects, nil
}

// appendObjects adds an object, or those of a list, as 'kubectl get -o yaml'
// prints it. In a list of one kind they may leave theirs out.
func appendObjects(objects []*unstructured.Unstructured, o *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if o.GetKind() == "" || o.GetAPIVersion() == "" {
		return nil, errors.New("an object has no kind or no apiVersion")
	}
	items, isList := o.Object["items"].([]any)
	if kind, listed := strings.CutSuffix(o.GetKind(), "List"); isList && listed {
		for _, item := range items {
			content, ok := item.(map[string]any)
			if !ok {
				return nil, fmt.Errorf("the %s has an item that is no object", o.GetKind())
			}
			one := &unstructured.Unstructured{Object: content}
			if kind != "" && one.GetKind() == "" && one.GetAPIVersion() == "" {
				one.SetGroupVersionKind(o.GroupVersionKind().GroupVersion().WithKind(kind))
			}
			var err error
			if objects, err = appendObjects(objects, one); err != nil {
				return nil, err
			}
		}
		return objects, nil
	}
	return append(objects, o), nil
}
