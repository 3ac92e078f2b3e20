// Command bench measures Dogear beside two references on the same API server:
// see docs/benchmarks.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

func main() {
	if subject.Is(os.Args[1:]) {
		signal.Ignore(os.Interrupt, syscall.SIGTERM) // sent to the whole group: the driver stops it in order
		if err := subject.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures what args say and writes the results.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	b := &bench{progress: stderr}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&b.objects, "objects", 1000, "objects in each round; restart takes five times as many")
	flags.IntVar(&b.rounds, "rounds", 5, "rounds, of which the medians are reported; at least 3")
	only := flags.String("scenario", "", "regular expression of the scenarios to run (default all)")
	out := flags.String("out", "bench.json", "file for the results; none if empty")
	format := flags.String("o", "table", "what to print to the standard output: table or json")
	flags.BoolVar(&b.quick, "quick", false, "one round of few objects, to see that it works: the figures mean nothing")
	flags.StringVar(&b.cpuProfile, "cpuprofile", "", "prefix of CPU profiles of Dogear, of the last round of each scenario")
	flags.StringVar(&b.memProfile, "memprofile", "", "prefix of memory profiles of Dogear, of the same")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if b.quick {
		b.objects, b.rounds = min(b.objects, 20), 1
	}
	selected, err := regexp.Compile(*only)
	switch {
	case err != nil:
		return fmt.Errorf("-scenario: %w", err)
	case (b.rounds < 3 && !b.quick) || b.objects < 10:
		return fmt.Errorf("-rounds is %d and -objects is %d: want at least 3 and 10", b.rounds, b.objects)
	case *format != "table" && *format != "json":
		return fmt.Errorf("-o is %q: want table or json", *format)
	}
	document, err := b.measure(ctx, selected, *out)
	if document != nil {
		err = errors.Join(err, show(document, *format, stdout, stderr))
	}
	return err
}

// show prints the results; where the document is printed, the table for people
// goes to the standard error.
func show(d *Document, format string, stdout, stderr io.Writer) error {
	if format == "table" {
		return writeTable(stdout, d)
	}
	return errors.Join(writeTable(stderr, d), writeDocument(stdout, d))
}
