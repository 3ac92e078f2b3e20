package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

func TestWhatAnOutcomeBecomes(t *testing.T) {
	const s = time.Second
	retry := func(limit int, timeout time.Duration) plan.Retry {
		return plan.Retry{Limit: limit, Timeout: timeout, Initial: s, Factor: 2, Max: time.Minute}
	}
	for name, c := range map[string]struct {
		retry    plan.Retry
		attempt  int
		age      time.Duration // since the first attempt
		outcome  plan.Outcome
		state    storage.State
		attempts int
		next     time.Duration // from now; 0: none
		reason   string
	}{
		"success":           {retry(0, 0), 1, 0, plan.Outcome{State: storage.Succeeded, After: -1}, storage.Succeeded, 1, 0, ""},
		"a permanent error": {retry(0, 0), 2, 0, plan.Outcome{State: storage.Failed, Reason: "Bad"}, storage.Failed, 2, 0, "Bad"},
		"the first temporary error waits Initial":  {retry(0, 0), 1, 0, plan.Outcome{State: storage.Retrying, After: -1, Reason: "Busy"}, storage.Retrying, 1, s, "Busy"},
		"the third waits Initial × Factor²":        {retry(0, 0), 3, 0, plan.Outcome{State: storage.Retrying, After: -1}, storage.Retrying, 3, 4 * s, ""},
		"back-off is capped by Max":                {retry(0, 0), 30, 0, plan.Outcome{State: storage.Retrying, After: -1}, storage.Retrying, 30, 60 * s, ""},
		"an explicit delay outweighs back-off":     {retry(0, 0), 3, 0, plan.Outcome{State: storage.Retrying, After: 7 * s}, storage.Retrying, 3, 7 * s, ""},
		"an explicit delay of zero is at once":     {retry(0, 0), 3, 0, plan.Outcome{State: storage.Retrying}, storage.Retrying, 3, 1, ""},
		"a delay is capped by a day":               {retry(0, 0), 1, 0, plan.Outcome{State: storage.Retrying, After: 48 * time.Hour}, storage.Retrying, 1, plan.MaxDelay, ""},
		"the limit turns an error permanent":       {retry(3, 0), 3, 0, plan.Outcome{State: storage.Retrying, After: -1, Reason: "Busy"}, storage.Failed, 3, 0, plan.ReasonLimit},
		"before the limit it stays temporary":      {retry(3, 0), 2, 0, plan.Outcome{State: storage.Retrying, After: -1}, storage.Retrying, 2, 2 * s, ""},
		"success in the last attempt":              {retry(3, 0), 3, 0, plan.Outcome{State: storage.Succeeded, After: -1}, storage.Succeeded, 3, 0, ""},
		"waiting uses no attempt":                  {retry(0, 0), 1, 0, plan.Outcome{State: storage.Waiting, After: 5 * s}, storage.Waiting, 0, 5 * s, ""},
		"waiting with no delay: ten seconds":       {retry(0, 0), 2, 0, plan.Outcome{State: storage.Waiting, After: -1}, storage.Waiting, 1, 10 * s, ""},
		"waiting in the last attempt":              {retry(3, 0), 3, 0, plan.Outcome{State: storage.Waiting, After: 5 * s}, storage.Waiting, 2, 5 * s, ""},
		"the timeout counts where the next begins": {retry(0, 10*s), 4, 5 * s, plan.Outcome{State: storage.Retrying, After: -1}, storage.Failed, 4, 0, plan.ReasonTimeout},
		"just within the timeout":                  {retry(0, 10*s), 4, 2 * s, plan.Outcome{State: storage.Retrying, After: -1}, storage.Retrying, 4, 8 * s, ""},
		"the timeout ends waiting too":             {retry(0, 10*s), 1, 8 * s, plan.Outcome{State: storage.Waiting, After: 5 * s}, storage.Failed, 0, 0, plan.ReasonTimeout},
		"success after the timeout is a success":   {retry(0, 10*s), 1, 60 * s, plan.Outcome{State: storage.Succeeded, After: -1}, storage.Succeeded, 1, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := handler(create)
			h.Retry = c.retry
			due := plan.Due{
				Cause: storage.Create, Digest: "e1", Attempt: c.attempt, Started: noon.Add(-c.age),
				Last: c.retry.Limit > 0 && c.attempt >= c.retry.Limit,
			}
			r := plan.Transition(&h, due, storage.Record{Claimed: true}, c.outcome, noon, 0)
			next := noon.Add(c.next)
			if c.next == 1 {
				next = noon
			} else if c.next == 0 {
				next = time.Time{}
			}
			if r.State != c.state || r.Attempts != c.attempts || !r.Next.Equal(next) || r.Reason != c.reason || r.Claimed || r.Essence != "e1" {
				t.Errorf("record %+v; want %s, %d attempts, next %s, reason %q", r, c.state, c.attempts, next, c.reason)
			}
		})
	}
}

// An annotation holds whole milliseconds: the next attempt is due no earlier
// than the handler asked for, also as read after a restart.
func TestADelayIsNeverCutShort(t *testing.T) {
	h := handler(create)
	for _, o := range []plan.Outcome{{State: storage.Retrying, After: time.Second}, {State: storage.Waiting, After: time.Second}} {
		for _, part := range []time.Duration{0, 1, 400 * time.Microsecond, 999_999} {
			now := noon.Add(part)
			r := plan.Transition(&h, plan.Due{Attempt: 1, Started: noon}, storage.Record{}, o, now, 0)
			if late := r.Next.Sub(now) - time.Second; late < 0 || late >= time.Millisecond || !r.Next.Equal(r.Next.Truncate(time.Millisecond)) {
				t.Errorf("%s after %s: next is %s, %s late", o.State, part, r.Next, late)
			}
		}
	}
}

func TestBackOff(t *testing.T) {
	next := func(r plan.Retry, attempt int, chance float64) time.Duration {
		h := handler(create)
		h.Retry = r
		due := plan.Due{Attempt: attempt, Started: noon}
		return plan.Transition(&h, due, storage.Record{}, plan.Outcome{State: storage.Retrying, After: -1}, noon, chance).Next.Sub(noon)
	}
	second := plan.Retry{Initial: time.Second, Factor: 2, Max: time.Minute}
	for name, c := range map[string]struct{ got, least, most time.Duration }{
		"jitter adds up to a tenth":           {next(second, 1, 0.999), 1099 * time.Millisecond, 1100 * time.Millisecond},
		"also above the cap":                  {next(second, 20, 0.5), 63 * time.Second, 63 * time.Second},
		"a factor below one doesn't shrink":   {next(plan.Retry{Initial: time.Second, Factor: 0.1}, 9, 0), time.Second, time.Second},
		"no cap: a day":                       {next(plan.Retry{Initial: time.Second, Factor: 10}, 400, 0.9), plan.MaxDelay, plan.MaxDelay},
		"no initial delay, endless attempts":  {next(plan.Retry{Factor: 2}, 5000, 0.9), 0, 0},
		"an initial delay above the cap":      {next(plan.Retry{Initial: time.Hour, Max: time.Minute}, 1, 0), time.Minute, time.Minute},
		"the first of a day's initial delays": {next(plan.Retry{Initial: 48 * time.Hour}, 1, 0.9), plan.MaxDelay, plan.MaxDelay},
	} {
		if c.got < c.least || c.got > c.most {
			t.Errorf("%s: %s, want %s to %s", name, c.got, c.least, c.most)
		}
	}
}

func TestMessagesAreCleanAndShort(t *testing.T) {
	h := handler(create)
	r := plan.Transition(&h, plan.Due{Attempt: 1}, storage.Record{}, plan.Outcome{State: storage.Failed, Message: "a\nb\x00" + strings.Repeat("x", 4000)}, noon, 0)
	if len(r.Message) > storage.MaxMessage || !strings.HasPrefix(r.Message, "a b ") {
		t.Errorf("%d bytes: %.20q", len(r.Message), r.Message)
	}
}

func TestWhenAHandlerIsDueAgain(t *testing.T) {
	in := func(next time.Duration) storage.Record {
		r := tried(storage.Create, storage.Retrying, "e1", 2)
		r.Next = noon.Add(next)
		return r
	}
	for name, c := range map[string]struct {
		in   plan.Input
		due  int           // attempt; 0: not due
		next time.Duration // 0: none
	}{
		"not before its time":                       {at("e1", with(storage.Marker{}, in(time.Second)), handler(create)), 0, time.Second},
		"at its time":                               {at("e1", with(storage.Marker{}, in(0)), handler(create)), 3, 0},
		"a time beyond all delays counts as now":    {at("e1", with(storage.Marker{}, in(25*time.Hour)), handler(create)), 3, 0},
		"a change ends back-off and counts anew":    {at("e2", with(storage.Marker{}, in(time.Hour)), handler(create)), 1, 0},
		"a change elsewhere doesn't":                {at("e2", with(storage.Marker{}, in(time.Hour)), handler(create, watching("e1"))), 0, time.Hour},
		"a deletion that waits for nothing of ours": {deleted(at("e1", with(storage.Marker{}, in(time.Hour)), handler(create))), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := plan.Decide(c.in)
			next := time.Duration(0)
			if !d.Next.IsZero() {
				next = d.Next.Sub(noon)
			}
			if due := onlyDue(t, d); due.Attempt != c.due || next != c.next {
				t.Errorf("attempt %d, next %s; want %d, %s", due.Attempt, next, c.due, c.next)
			}
		})
	}
}

func TestTheEarliestOfSeveralTimesCounts(t *testing.T) {
	m := storage.Marker{}
	for i, id := range []string{"h", "i", "j"} {
		r := tried(storage.Create, storage.Waiting, "e1", 0)
		r.Next = noon.Add(time.Duration(3-i%2) * time.Second)
		m = m.WithRecord(self, id, r)
	}
	d := plan.Decide(at("e1", m, handler(create), handler(create, named("i")), handler(create, named("j"))))
	if len(d.Due) != 0 || !d.Next.Equal(noon.Add(2*time.Second)) {
		t.Errorf("due %v, next %s", d.Due, d.Next)
	}
}

func TestDueHandlersComeInDeclaredOrderAndTellTheLastAttempt(t *testing.T) {
	m := with(storage.Marker{}, tried(storage.Create, storage.Retrying, "e1", 2))
	d := plan.Decide(at("e1", m, handler(create, named("z")), handler(create, limited(3)), handler(create, named("a"))))
	if len(d.Due) != 3 || d.Due[0].Index != 0 || d.Due[1].Index != 1 || d.Due[2].Index != 2 {
		t.Fatalf("due: %+v", d.Due)
	}
	if due := d.Due[1]; due.Attempt != 3 || !due.Last || d.Due[0].Last {
		t.Errorf("due: %+v", d.Due)
	}
}

func TestStarted(t *testing.T) {
	early, future := noon.Add(-time.Hour), noon.Add(time.Hour)
	for name, c := range map[string]struct {
		used          int
		started, want time.Time
	}{
		"the first attempt starts now":              {0, time.Time{}, noon},
		"waiting keeps it":                          {0, early, early},
		"further attempts keep it":                  {2, early, early},
		"a future one was written by a wrong clock": {2, future, noon},
		"one that was lost doesn't time out":        {2, time.Time{}, noon},
	} {
		r := tried(storage.Create, storage.Retrying, "e1", c.used)
		r.Started = c.started
		if due := onlyDue(t, plan.Decide(at("e1", with(storage.Marker{}, r), handler(create)))); !due.Started.Equal(c.want) {
			t.Errorf("%s: %s, want %s", name, due.Started, c.want)
		}
	}
}
