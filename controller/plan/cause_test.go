package plan_test

import (
	"testing"
	"time"

	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

const (
	create = plan.OnCreate
	update = plan.OnUpdate
	del    = plan.OnDelete
	resume = plan.OnResume
)

func TestWhyAHandlerIsDue(t *testing.T) {
	none := storage.Marker{}
	for name, c := range map[string]struct {
		in    plan.Input
		cause storage.Cause // empty: not due
		state storage.State
	}{
		"never finished: Create":                              {at("e1", none, handler(create|update)), storage.Create, storage.Pending},
		"stamped: Create":                                     {at("e1", with(none, stamped(storage.Create)), handler(create)), storage.Create, storage.Pending},
		"finished just this: nothing":                         {at("e1", handled("e1", "h"), handler(create|update)), "", storage.Succeeded},
		"finished another essence: Update":                    {at("e2", handled("e1", "h"), handler(create|update)), storage.Update, storage.Pending},
		"others finished, this one never: Create":             {at("e1", handled("e1", "other"), handler(create|update)), storage.Create, storage.Pending},
		"Create only is not due by a change":                  {at("e2", handled("e1", "h"), handler(create)), "", storage.Succeeded},
		"Create only sees the newest until it finishes":       {at("e2", with(none, tried(storage.Create, storage.Retrying, "e1", 2)), handler(create)), storage.Create, storage.Pending},
		"Create only, failed: a change changes nothing":       {at("e2", with(none, tried(storage.Create, storage.Failed, "e1", 1)), handler(create)), "", storage.Failed},
		"Update only is not due before a change":              {at("e1", none, handler(update)), "", storage.Succeeded},
		"Update only is due by a change":                      {at("e2", handled("e1", "h"), handler(update)), storage.Update, storage.Pending},
		"failed for good is not due again":                    {at("e1", with(handled("e1", "h"), tried(storage.Update, storage.Failed, "e1", 1)), handler(create|update)), "", storage.Failed},
		"failed for good, then changed: Update":               {at("e2", with(none, tried(storage.Create, storage.Failed, "e1", 1)), handler(create|update)), storage.Update, storage.Pending},
		"admission knew of an Update":                         {at("e2", with(none, stamped(storage.Update)), handler(create|update)), storage.Update, storage.Pending},
		"an Update that overwrote the first success, changed": {at("e3", with(none, tried(storage.Update, storage.Retrying, "e2", 1)), handler(create|update)), storage.Update, storage.Pending},
		"began as Create, now Update only, changed: Update":   {at("e2", with(none, tried(storage.Create, storage.Retrying, "e1", 1)), handler(update)), storage.Update, storage.Pending},
		"began as Update, now Create only: nothing":           {at("e2", with(none, tried(storage.Update, storage.Retrying, "e1", 1)), handler(create)), "", storage.Succeeded},
		"failed as Resume, now Create too: Create":            {at("e1", with(none, tried(storage.Resume, storage.Failed, "e1", 1)), handler(create|resume)), storage.Create, storage.Pending},
		"Delete only has nothing to do before":                {at("e1", none, handler(del)), "", storage.Succeeded},
		"unselected: nothing":                                 {at("e1", none, handler(create, unselected)), "", ""},
		"unselected, with a record: nothing":                  {at("e1", with(none, tried(storage.Create, storage.Retrying, "e1", 1)), handler(create, unselected)), "", ""},
		"A→B→A before an attempt: nothing":                    {at("e1", with(handled("e1", "h"), stamped(storage.Update)), handler(create|update)), "", storage.Succeeded},
		"A→B→A after an attempt: Update":                      {at("e1", with(handled("e1", "h"), tried(storage.Update, storage.Retrying, "e2", 1)), handler(create|update)), storage.Update, storage.Pending},
		"A→B→A after a success that is not yet in handled":    {at("e1", with(handled("e1", "h"), tried(storage.Update, storage.Succeeded, "e2", 1)), handler(create|update)), storage.Update, storage.Pending},
		"A→B→A after a failure for good: Update":              {at("e1", with(handled("e1", "h"), tried(storage.Update, storage.Failed, "e2", 1)), handler(create|update)), storage.Update, storage.Pending},
		"watched fields unchanged: nothing":                   {at("e2", entry(handled("e1", "h"), "h", storage.Entry{Digest: "f1"}), handler(create|update, watching("f1"))), "", storage.Succeeded},
		"watched fields changed: Update":                      {at("e1", entry(handled("e1", "h"), "h", storage.Entry{Digest: "f1"}), handler(create|update, watching("f2"))), storage.Update, storage.Pending},
		"a success as Delete finishes no other cause":         {at("e1", with(none, tried(storage.Delete, storage.Succeeded, "e1", 1)), handler(create)), storage.Create, storage.Pending},
	} {
		t.Run(name, func(t *testing.T) {
			d := plan.Decide(c.in)
			if due := onlyDue(t, d); due.Cause != c.cause || d.States[0] != c.state {
				t.Errorf("due as %q, state %q; want %q, %q", due.Cause, d.States[0], c.cause, c.state)
			}
		})
	}
}

func TestResume(t *testing.T) {
	for name, c := range map[string]struct {
		in    plan.Input
		cause storage.Cause
	}{
		"a finished handler that owes it":                            {at("e1", handled("e1", "h"), handler(create|resume, resuming)), storage.Resume},
		"owed nothing":                                               {at("e1", handled("e1", "h"), handler(create|resume)), ""},
		"not declared for it":                                        {at("e1", handled("e1", "h"), handler(create, resuming)), ""},
		"never finished: Create comes first":                         {at("e1", storage.Marker{}, handler(create|resume, resuming)), storage.Create},
		"changed meanwhile: Update comes first":                      {at("e2", handled("e1", "h"), handler(create|update|resume, resuming)), storage.Update},
		"Create only, changed meanwhile":                             {at("e2", handled("e1", "h"), handler(create|resume, resuming)), storage.Resume},
		"Create only, its success not yet in handled: Resume waits":  {at("e2", with(storage.Marker{}, tried(storage.Create, storage.Succeeded, "e1", 1)), handler(create|resume, resuming)), ""},
		"Resume only":                                                {at("e1", storage.Marker{}, handler(resume, resuming)), storage.Resume},
		"unfinished before the restart":                              {at("e1", with(handled("e1", "h"), tried(storage.Resume, storage.Retrying, "e1", 1)), handler(resume)), storage.Resume},
		"unfinished, then changed: it is not owed the new":           {at("e2", with(handled("e1", "h"), tried(storage.Resume, storage.Retrying, "e1", 1)), handler(create|resume)), ""},
		"unfinished, then changed back: what it finished stands":     {at("e1", with(handled("e1", "h"), tried(storage.Resume, storage.Retrying, "e2", 1)), handler(update)), ""},
		"failed for good, then changed and owed again by a restart":  {at("e2", with(storage.Marker{}, tried(storage.Resume, storage.Failed, "e1", 1)), handler(resume, resuming)), storage.Resume},
		"failed for good as Resume, where an Update is due by now":   {at("e2", with(handled("e1", "h"), tried(storage.Resume, storage.Failed, "e2", 1)), handler(update|resume)), storage.Update},
		"failed for good, and owed again by a restart: stays failed": {at("e1", with(handled("e1", "h"), tried(storage.Resume, storage.Failed, "e1", 1)), handler(resume, resuming)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if due := onlyDue(t, plan.Decide(c.in)); due.Cause != c.cause {
				t.Errorf("due as %q, want %q", due.Cause, c.cause)
			}
		})
	}
}

func TestResumeLeavesNoTrace(t *testing.T) {
	m := handled("e1", "h")
	h := handler(create|resume, resuming)
	in := at("e1", m, h)
	d := plan.Decide(in)
	in.Marker = plan.Apply(d.Marker, self, &h, d.Due[0], plan.Outcome{State: storage.Succeeded}, noon, 0)
	sameText(t, stateless(in.Marker), stateless(m))
	in.Handlers[0].Resume = false
	sameText(t, plan.Decide(in).Marker, m)
}

func TestDeletion(t *testing.T) {
	backOff := tried(storage.Create, storage.Retrying, "e1", 3)
	backOff.Next = noon.Add(time.Hour)
	for name, c := range map[string]struct {
		in      plan.Input
		cause   storage.Cause
		attempt int
		do      plan.Finalizer
	}{
		"a delete handler is due":            {deleted(at("e1", handled("e1", "h"), handler(create|del))), storage.Delete, 1, plan.Keep},
		"deletion preempts back-off":         {deleted(at("e1", with(storage.Marker{}, backOff), handler(create|del))), storage.Delete, 1, plan.Keep},
		"an unfinished deletion goes on":     {deleted(at("e1", with(storage.Marker{}, tried(storage.Delete, storage.Retrying, "e1", 2)), handler(del))), storage.Delete, 3, plan.Keep},
		"also where the essence has changed": {deleted(at("e2", with(storage.Marker{}, tried(storage.Delete, storage.Retrying, "e1", 2)), handler(del))), storage.Delete, 3, plan.Keep},
		"a change preempts its back-off too": {deleted(at("e2", with(storage.Marker{}, func() storage.Record {
			r := tried(storage.Delete, storage.Retrying, "e1", 2)
			r.Next = noon.Add(time.Hour)
			return r
		}()), handler(del))), storage.Delete, 3, plan.Keep},
		"finished, the finalizer goes": {deleted(at("e2", with(storage.Marker{}, tried(storage.Delete, storage.Succeeded, "e1", 1)), handler(del))), "", 0, plan.Remove},
		"failed for good, it goes too": {deleted(at("e1", with(storage.Marker{}, tried(storage.Delete, storage.Failed, "e1", 1)), handler(del))), "", 0, plan.Remove},
		"no delete handler, it goes":   {deleted(at("e1", storage.Marker{}, handler(create))), "", 0, plan.Remove},
		"no handler selects, it goes":  {deleted(at("e1", storage.Marker{}, handler(del, unselected))), "", 0, plan.Remove},
		"the finalizer was taken off: cleanup is waived": {func() plan.Input {
			in := deleted(at("e1", handled("e1", "h"), handler(create|update|del)))
			in.Object.Held = false
			return in
		}(), "", 0, plan.Keep},
	} {
		t.Run(name, func(t *testing.T) {
			d := plan.Decide(c.in)
			due := onlyDue(t, d)
			if due.Cause != c.cause || due.Attempt != c.attempt || d.Finalizer != c.do {
				t.Errorf("due %+v, finalizer %d; want %q, attempt %d, finalizer %d", due, d.Finalizer, c.cause, c.attempt, c.do)
			}
		})
	}
}

func TestTheLastOfTwoDeleteHandlersReleasesTheObject(t *testing.T) {
	in := deleted(at("e1", storage.Marker{}, handler(del), handler(del, named("i"))))
	for _, want := range []plan.Finalizer{plan.Keep, plan.Remove} {
		d := plan.Decide(in)
		due := d.Due[0]
		in.Marker = plan.Apply(d.Marker, self, &in.Handlers[due.Index], due, plan.Outcome{State: storage.Succeeded}, noon, 0)
		if got := plan.Decide(in).Finalizer; got != want {
			t.Errorf("after %s: finalizer %d, want %d", in.Handlers[due.Index].ID, got, want)
		}
	}
}

func TestFinalizerOfALivingObject(t *testing.T) {
	for name, c := range map[string]struct {
		in   plan.Input
		want plan.Finalizer
	}{
		"a delete handler selects it: add":                  {at("e1", storage.Marker{}, handler(create|del)), plan.Add},
		"it is there: keep":                                 {held(at("e1", storage.Marker{}, handler(del))), plan.Keep},
		"none selects it any more: remove":                  {held(at("e1", handled("e1", "h"), handler(del, unselected))), plan.Remove},
		"no handler is left: remove":                        {held(at("e1", handled("e1", "h"))), plan.Remove},
		"handlers for other causes need none":               {at("e1", storage.Marker{}, handler(create|update|resume)), plan.Keep},
		"paused: nothing is added":                          {at("e1", storage.Marker{Paused: true}, handler(del)), plan.Keep},
		"paused and needed by nobody: stays while it lives": {held(at("e1", storage.Marker{Paused: true}, handler(create))), plan.Keep},
		"paused and being deleted: held for the handler":    {deleted(at("e1", storage.Marker{Paused: true}, handler(del))), plan.Keep},
		"paused and being deleted, needed by nobody: goes":  {deleted(at("e1", storage.Marker{Paused: true}, handler(create))), plan.Remove},
	} {
		t.Run(name, func(t *testing.T) {
			if got := plan.Decide(c.in).Finalizer; got != c.want {
				t.Errorf("finalizer %d, want %d", got, c.want)
			}
		})
	}
}
