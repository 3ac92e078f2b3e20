package handlertest

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
)

// Options describes the request. The zero value is the first attempt.
type Options struct {
	// Context is the parent of the handler's context, which Spec.Timeout ends
	// as well. Default: that of the test.
	Context context.Context
	// Cause is why the handler runs. Default: Delete if the object is being
	// deleted, Update if Old is set, else the first one of Spec.On.
	Cause handler.Cause
	// Old is the object as it was when the handler last finished, of any Go
	// type; it makes Request.Old and Request.Changes known. It takes Spec.Diff.
	Old client.Object
	// Attempt counts from 1, the default. The last one is that which Spec.Retry
	// makes the last.
	Attempt int
	// Now is the time at which the attempt begins and ends. Default: DefaultNow.
	// A handler that looks at the clock itself is best tested within
	// testing/synctest.
	Now time.Time
	// Started is when the first attempt began. Default: Now.
	Started time.Time
	// IdempotencyID. Default: made of the handler, the object and the cause.
	IdempotencyID string
	// Fence is the fencing number. Default: 1.
	Fence int64
	// By is the user who made the change.
	By string
	// Payloads holds the last payloads by handler ID: those of other handlers,
	// and the handler's own. Default of its own: what the object's status has.
	Payloads map[string]any
	// Grace is how long a handler may go on after its context has ended.
	// Default: handler.DefaultGrace.
	Grace time.Duration
	// Scheme tells the kind of the object where neither its TypeMeta nor the
	// scheme of client-go does. It matters only to handlers that read it.
	Scheme *runtime.Scheme
}

// DefaultNow is the time of a request, unless Options sets one.
var DefaultNow = time.Date(2030, time.January, 1, 12, 0, 0, 0, time.UTC)

func (o Options) withDefaults(on handler.Cause, deleting bool) Options {
	if o.Cause == 0 {
		switch {
		case deleting:
			o.Cause = handler.Delete
		case o.Old != nil:
			o.Cause = handler.Update
		default:
			o.Cause = on & -on // its lowest bit
		}
	}
	if o.Now.IsZero() {
		o.Now = DefaultNow
	}
	if o.Started.IsZero() {
		o.Started = o.Now
	}
	o.Attempt = max(o.Attempt, 1)
	if o.Fence == 0 {
		o.Fence = 1
	}
	return o
}
