// Command dogear runs handlers on Kubernetes objects whose CRD you don't own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/dogear-dev/dogear/cmd/dogear/demo"
	"github.com/dogear-dev/dogear/controller/installation"
)

// Exit statuses. One that a signal has ended has 128 and its number.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx := untilSignal(context.Background())
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr, demo.Options{}))
}

// run runs a command line and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer, defaults demo.Options) int {
	root := newRoot(stdout, stderr, defaults)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "dogear:", printable(err.Error()))
	}
	return status(err)
}

// printable is a text of several lines fit for a terminal: an error may repeat what
// others have written, as webhooks that refuse something.
func printable(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = installation.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

func status(err error) int {
	var (
		s signaled
		u usageError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &s):
		return 128 + int(s.signal)
	case errors.As(err, &u):
		return exitUsage
	}
	return exitFailed
}

// signaled is the cause of a context that a signal has ended.
type signaled struct{ signal syscall.Signal }

func (s signaled) Error() string { return "ended by a signal: " + s.signal.String() }

// untilSignal ends ctx at the first SIGINT or SIGTERM, so that everything ends
// in order. The second ends the process at once.
func untilSignal(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		first := (<-signals).(syscall.Signal)
		cancel(signaled{first})
		second := (<-signals).(syscall.Signal)
		os.Exit(128 + int(second))
	}()
	return ctx
}
