package handlertest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
)

// Outcome is what came of the handler's attempt.
type Outcome[T client.Object] struct {
	// Kind is what the attempt came to, limits of Spec.Retry included: a
	// temporary error of the last attempt is a Failed.
	Kind handler.OutcomeKind
	// Delay is the time until the handler runs again, without jitter; 0 where
	// it does not.
	Delay time.Duration
	// Reason is what the operator records: the handler's own word, or Dogear's.
	Reason string
	// Message is the error's text as the operator records it, shortened.
	Message string
	// Payload is built of what JSON has; nil: none. See DecodePayload.
	Payload any
	// Err is the error that the handler returned, also one that is ignored.
	Err error
	// Interrupted tells that Options.Context has ended and the attempt counts
	// for nothing: the operator forgets what else is in the Outcome.
	Interrupted bool
	// Object is the object with the handler's patch applied.
	Object T
	// Patch is the handler's patch as a JSON merge patch; nil: none.
	Patch map[string]any
	// Done is closed when the handler's goroutine has ended, which may be after
	// Run has abandoned it.
	Done <-chan struct{}
}

// String is the outcome for people.
func (o Outcome[T]) String() string {
	var b strings.Builder
	b.WriteString(o.Kind.String())
	if o.Interrupted {
		b.WriteString(", but interrupted")
	}
	if o.Kind == handler.Waiting || o.Kind == handler.Retrying {
		fmt.Fprintf(&b, " in %s", o.Delay)
	}
	if o.Reason != "" {
		fmt.Fprintf(&b, " (%s)", o.Reason)
	}
	if o.Err != nil {
		fmt.Fprintf(&b, ": %s", o.Err)
	}
	if o.Payload != nil {
		fmt.Fprintf(&b, "\npayload: %s", o.payload())
	}
	var panicked *handler.PanicError
	if errors.As(o.Err, &panicked) {
		fmt.Fprintf(&b, "\n%s", panicked.Stack)
	}
	return b.String()
}

func (o Outcome[T]) payload() []byte {
	text, _ := json.Marshal(o.Payload) // was decoded from JSON
	return text
}

// DecodePayload decodes the payload into v; the test fails where there is none.
func (o Outcome[T]) DecodePayload(t testing.TB, v any) {
	t.Helper()
	if o.Payload == nil {
		t.Fatalf("the handler left no payload\ngot: %s", o)
	}
	if err := json.Unmarshal(o.payload(), v); err != nil {
		t.Fatalf("the payload does not decode as %T: %v\ngot: %s", v, err, o)
	}
}
