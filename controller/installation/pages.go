package installation

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// PageSize is the number of objects that are read at a time.
	PageSize = 500
	// MaxTries is how often a request is sent that gets an answer which may be
	// another one the next time.
	MaxTries = 8
)

// Pages lists objects page by page, and has each page seen, until see wants no
// more. A page is asked for again while its answer may become another one. A list
// that took longer than the server remembers goes on where it was, with the rest
// as of now; where the server cannot tell where that is, it begins anew, which
// see is told with anew: what it has seen before does not count. The error is
// that of see, or of the last request for a page.
func Pages[L metav1.ListInterface](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error), see func(page L, anew bool) (more bool, err error)) error {
	options := metav1.ListOptions{Limit: PageSize}
	seen, anew := false, false
	for expired := 0; ; {
		page, err := Retried(ctx, func() (L, error) { return list(ctx, options) })
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		if apierrors.IsResourceExpired(err) && expired < MaxTries {
			expired++
			options.Continue = resumption(err)
			anew = anew || seen && options.Continue == ""
			continue
		}
		if err != nil {
			return err
		}
		more, err := see(page, anew)
		if options.Continue = page.GetContinue(); err != nil || !more || options.Continue == "" {
			return err
		}
		seen, anew, expired = true, false, 0
	}
}

// resumption is where a list goes on whose start the server has forgotten;
// empty: at its beginning.
func resumption(err error) string {
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		return api.Status().Continue
	}
	return ""
}

// Retried sends a request until it has an answer that will stay the same, at most
// MaxTries times.
func Retried[T any](ctx context.Context, send func() (T, error)) (answer T, err error) {
	for try := 1; ; try++ {
		if answer, err = send(); !Transient(err) || try == MaxTries || !Pause(ctx, Backoff(try)) {
			return answer, err
		}
	}
}

// Backoff is the pause after a try, which is counted from 1.
func Backoff(try int) time.Duration {
	return min(25*time.Millisecond<<min(try, 8), 5*time.Second)
}

// Pause waits, and tells whether ctx still goes on.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
