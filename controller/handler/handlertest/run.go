package handlertest

import (
	"context"
	"errors"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/plan"
	"github.com/dogear-dev/dogear/storage"
)

// Run runs the handler once on the object and returns what came of it.
// Neither the object nor anything else that is passed in is changed.
//
// The test fails at once where an operator would not come to run the handler:
// the declaration is not valid, it does not select the object, or it is not
// for the cause.
func Run[T client.Object](
	t testing.TB,
	spec handler.Spec,
	fn func(context.Context, *handler.Request[T]) (handler.Result, error),
	object T,
	options Options,
	registered ...handler.RegisterOption[T],
) Outcome[T] {
	t.Helper()
	h, set := compile(t, options.Scheme, object, func(r handler.Registry) { handler.Register(r, spec, fn, registered...) })
	u := plain(t, object)
	complete(u, h, set.Kind)
	options = options.withDefaults(h.Spec.On, u.GetDeletionTimestamp() != nil)
	if options.Context == nil {
		options.Context = t.Context()
	}
	if options.Cause == handler.Delete {
		markDeleted(u, options.Now)
	}
	mustBeDue(t, h, u, options)

	req := request(t, h, set, u, options)
	result, err, done := handler.Invoke(options.Context, h.Registration, req, options.Grace)
	if errors.Is(err, handler.ErrExited) && t.Failed() {
		t.FailNow() // it was the test that the handler ended
	}
	o := Outcome[T]{Done: done, Interrupted: handler.Interrupted(options.Context, err)}
	classified := handler.Classify(result, err, h.Spec.OnError)
	merge, err := req.Patch.MergePatch()
	if err != nil {
		classified = handler.BadPatch(classified, err)
	}
	o.Patch, o.Object = merge, patched[T](t, u, merge)
	o.settle(h, req, classified, options)
	return o
}

// settle fills in what becomes of the handler.
func (o *Outcome[T]) settle(h *compiled, req *handler.RawRequest, classified handler.Outcome, options Options) {
	o.Payload, o.Err = classified.Payload, classified.Err
	due := plan.Due{Attempt: req.Attempt, Last: req.LastAttempt, Started: req.Started}
	record := plan.Transition(&plan.Handler{ID: h.Spec.ID, Retry: plan.Retry(h.Spec.Retry)}, due, storage.Record{}, planned(classified), options.Now, 0)
	o.Kind, o.Reason, o.Message = kinds[record.State], record.Reason, record.Message
	if !record.Next.IsZero() {
		o.Delay = record.Next.Sub(options.Now)
	}
}

var kinds = map[storage.State]handler.OutcomeKind{
	storage.Succeeded: handler.Succeeded,
	storage.Waiting:   handler.Waiting,
	storage.Retrying:  handler.Retrying,
	storage.Failed:    handler.Failed,
}

func planned(o handler.Outcome) plan.Outcome {
	out := plan.Outcome{After: -1, Reason: o.Reason, Message: o.Message}
	if o.After != nil {
		out.After = max(0, *o.After)
	}
	for state, kind := range kinds {
		if kind == o.Kind {
			out.State = state
		}
	}
	if o.Kind == handler.Succeeded {
		out.Message = "" // of an error that is ignored
	}
	return out
}
