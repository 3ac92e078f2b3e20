package controller

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/dogear-dev/dogear/controller/answer"
	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/storage"
)

// fate is what the error of a write says about what became of it.
type fate uint8

const (
	stored  fate = iota
	refused      // not stored: a guard failed, or the server won't have it
	gone         // the object is no more
	unknown      // stored or not: a time-out, a broken connection, a failing server
	denied       // no rights, too many requests, or not the leader: not stored, for now
)

func fateOf(err error) fate {
	switch {
	case err == nil:
		return stored
	case apierrors.IsNotFound(err):
		return gone
	case errors.Is(err, errLapsed):
		return denied
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err), apierrors.IsTooManyRequests(err):
		return denied
	case apierrors.IsConflict(err), apierrors.IsInvalid(err), apierrors.IsBadRequest(err),
		apierrors.IsRequestEntityTooLargeError(err), apierrors.IsUnsupportedMediaType(err):
		return refused
	}
	return unknown
}

// safeText describes an error of the API server without the values that its
// text may repeat: the texts of validation hold whole objects.
func safeText(err error) string {
	var (
		refusal  = answer.Of(err)
		format   *storage.FormatError
		panicked *handler.PanicError
	)
	switch {
	case err == nil:
		return "the object keeps changing"
	case errors.Is(err, errLapsed), errors.As(err, &format):
		return err.Error()
	case errors.As(err, &panicked):
		return "the predicate of a handler panics"
	case errors.Is(err, storage.ErrNoRoom):
		return storage.ErrNoRoom.Error() + ": shrink the object's other annotations"
	case refusal == nil:
		return "the API server did not answer"
	}
	switch {
	case refusal.Missing != "":
		return "missing rights: user " + refusal.Missing
	case refusal.By != "":
		return refusal.String()
	case refusal.Reason != metav1.StatusReasonInvalid && refusal.Reason != metav1.StatusReasonBadRequest:
		return fmt.Sprintf("the API server answered %d %s", refusal.Code, refusal.Reason)
	}
	text := fmt.Sprintf("the API server refused the change (%d %s)", refusal.Code, refusal.Reason)
	for i, f := range refusal.Fields {
		text += []string{": ", "; "}[min(i, 1)] + f.Path + ": " + string(f.Rule)
	}
	return text
}
