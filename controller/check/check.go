package check

import (
	"context"
	"fmt"
)

// Verdict is what comes of a check.
type Verdict string

// Verdicts.
const (
	OK      Verdict = "ok"
	Warning Verdict = "warning" // something to look at, which keeps nothing from working
	Failed  Verdict = "failed"
	Skipped Verdict = "skipped" // it could not be found out, or does not apply
)

// Result tells what a check has found.
type Result struct {
	Verdict Verdict
	// Message is what was found; for Skipped, why it was not looked for.
	Message string
	// Hint is what to do; empty where nothing is to be done.
	Hint string
	// Objects are those concerned, at most maxObjects.
	Objects []string
	// More is how many more there are.
	More int

	sets bool // it is a fault of sets: see ofSets
}

// Check is one thing to find out.
type Check struct {
	Group, Name string
	// Link is the section of docs/troubleshooting.md about it.
	Link string
	// Essential tells that without it nothing after it can be found out: if it
	// fails, the others are not made.
	Essential bool
	Run       func(ctx context.Context) Result
}

// maxObjects is how many objects a result names.
const maxObjects = 10

func passed(format string, args ...any) Result {
	return Result{Verdict: OK, Message: text(format, args)}
}

func warned(format string, args ...any) Result {
	return Result{Verdict: Warning, Message: text(format, args)}
}

func failed(format string, args ...any) Result {
	return Result{Verdict: Failed, Message: text(format, args)}
}

func skipped(format string, args ...any) Result {
	return Result{Verdict: Skipped, Message: text(format, args)}
}

// hint adds what to do.
func (r Result) hint(format string, args ...any) Result {
	r.Hint = text(format, args)
	return r
}

// about adds the objects concerned, as many as a result names.
func (r Result) about(objects ...string) Result {
	r.Objects = objects[:min(len(objects), maxObjects)]
	r.More = len(objects) - len(r.Objects)
	return r
}

// count is a number of things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func text(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}
