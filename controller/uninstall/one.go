package uninstall

import (
	"bytes"
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/dogear-dev/dogear/controller/installation"
	"github.com/dogear-dev/dogear/webhook"
)

// outcome is what came of one object.
type outcome struct {
	released bool // the finalizer is off
	cleaned  bool // the annotations are
	// reason says why the object stays as it is.
	reason string
}

func (o outcome) count() int {
	if o.released || o.cleaned {
		return 1
	}
	return 0
}

// releaseOne releases one object. Where there is no answer at all, the API server is
// waited for as long as the run may last.
func (l *look) releaseOne(ctx context.Context, m *metav1.PartialObjectMetadata) outcome {
	api := l.Metadata.Resource(l.gvr).Namespace(m.Namespace)
	options := metav1.PatchOptions{FieldManager: webhook.FieldManager}
	if l.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	done := outcome{released: l.held(m), cleaned: l.marked(m)}
	for try := 1; try == 1 || installation.Pause(ctx, installation.Backoff(try-1)); try++ {
		body := l.patchOf(m)
		reply, err := api.Patch(ctx, m.Name, types.JSONPatchType, body, options)
		switch {
		case err == nil:
			return l.proved(reply, done)
		case apierrors.IsNotFound(err):
			return outcome{} // it is gone, and what it had with it
		case !installation.Transient(err) && !guarded(err), try >= installation.MaxTries && installation.Answered(err):
			return outcome{reason: installation.Reason(err)}
		}
		fresh, readErr := api.Get(ctx, m.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(readErr), readErr == nil && fresh.UID != m.UID: // the next look sees a new one
			return gone(done, err)
		case readErr != nil && !installation.Transient(readErr):
			return outcome{reason: installation.Reason(readErr)}
		case readErr != nil:
			continue
		}
		again := l.patchOf(fresh)
		switch {
		case again == nil:
			return done // an answer got lost, or somebody was faster
		case apierrors.IsInvalid(err) && bytes.Equal(body, again):
			return outcome{reason: installation.Reason(err)} // no guard has failed
		}
		m = fresh
	}
	return outcome{} // ctx has ended
}

// gone is the outcome for an object that is no more after a request failed: if
// nobody knows whether it was done, it was.
func gone(done outcome, err error) outcome {
	if guarded(err) {
		return outcome{}
	}
	return done
}

// proved checks that what was taken off is off: something at admission may put
// it back.
func (l *look) proved(reply *metav1.PartialObjectMetadata, done outcome) outcome {
	if l.DryRun {
		return done // the webhook is still there
	}
	if l.held(reply) || l.marked(reply) {
		return outcome{reason: "something puts it back at admission: look for webhooks and policies that keep finalizers or annotations"}
	}
	return done
}

// guarded tells whether an error may be that of a guard of the patch.
func guarded(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsConflict(err) }
