package check

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// run makes checks one after another. What ctx ends has failed.
func run(ctx context.Context, version string, checks []Check) *Report {
	report := &Report{Version: version, Groups: []GroupReport{}}
	stopped := ""
	for _, c := range checks {
		if stopped != "" {
			report.add(c, skipped("not looked at: %s", stopped), true)
			continue
		}
		result := c.Run(ctx)
		if ctx.Err() != nil && result.Verdict != OK {
			result = failed("the time was over before it was known").hint("give it more time with --timeout, and look whether the API server is slow")
			stopped = "the time was over"
		}
		if result.Verdict == Failed && result.Hint == "" {
			result = result.hint("see what is said of it at the link")
		}
		if c.Essential && result.Verdict == Failed {
			stopped = "first mend " + c.Group + ": " + c.Name
		}
		report.add(c, result, false)
	}
	return report
}

// again is the pause between two rounds of Wait.
const again = 2 * time.Second

// wait makes rounds until nothing fails or ctx ends, and returns the report of
// the last one that was complete. tell is called with what fails, whenever that
// has changed.
func wait(ctx context.Context, c clock.Clock, round func(context.Context) *Report, tell func([]string)) *Report {
	var last *Report
	before := ""
	for {
		report := round(ctx)
		if last == nil || ctx.Err() == nil {
			last = report
		}
		if last.OK() || ctx.Err() != nil {
			return last
		}
		failures := last.failures()
		if now := joined(failures); now != before {
			tell(failures)
			before = now
		}
		select {
		case <-ctx.Done():
			return last
		case <-c.After(again):
		}
	}
}
