package controller

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
		status   apierrors.APIStatus
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
	case !errors.As(err, &status):
		return "the API server did not answer"
	}
	s := status.Status()
	if _, missing, ok := strings.Cut(s.Message, "is forbidden: User "); ok && apierrors.IsForbidden(err) {
		return "missing rights: user " + missing
	}
	if s.Reason != "Invalid" && s.Reason != "BadRequest" {
		return fmt.Sprintf("the API server answered %d %s", s.Code, s.Reason)
	}
	var fields []string
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			fields = append(fields, fmt.Sprintf("%s: %s", cause.Field, cause.Type))
		}
	}
	if len(fields) == 0 {
		return fmt.Sprintf("the API server refused the change (%d %s)", s.Code, s.Reason)
	}
	return fmt.Sprintf("the API server refused the change (%d %s): %s", s.Code, s.Reason, strings.Join(fields, "; "))
}
