package check

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// rounds are reports, one after another.
func rounds(failing ...[]string) func(context.Context) *Report {
	n := 0
	return func(ctx context.Context) *Report {
		now := failing[min(n, len(failing)-1)]
		n++
		checks := []Check{several[0]}
		for _, name := range now {
			checks = append(checks, always("group", name, failed("it is broken\nas ever")))
		}
		return run(ctx, "v1", checks)
	}
}

func TestWaitEndsWhenNothingFails(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakeClock(time.Now())
	var told []string
	done := make(chan *Report)
	go func() {
		done <- wait(t.Context(), c, rounds([]string{"a", "b"}, []string{"a", "b"}, []string{"b"}, nil), func(failures []string) {
			told = append(told, strings.Join(failures, ", "))
		})
	}()
	for {
		select {
		case r := <-done:
			want := []string{"group: a: it is broken, group: b: it is broken", "group: b: it is broken"}
			if !r.OK() || !slices.Equal(told, want) {
				t.Errorf("told %q, report %+v", told, r)
			}
			return
		default:
			if c.HasWaiters() {
				c.Step(again)
			}
		}
	}
}

func TestWaitEndsWithTheTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	failing := rounds([]string{"a"})
	r := wait(ctx, clocktesting.NewFakeClock(time.Now()), func(ctx context.Context) *Report {
		if n++; n == 1 {
			defer cancel() // the time is over after the first round
		}
		return failing(ctx)
	}, func([]string) {})
	if r.OK() || n != 1 || r.Groups[1].Checks[0].Message != "it is broken\nas ever" {
		t.Errorf("%d rounds, report %+v", n, r)
	}
}
