package uninstall

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/installation"
)

// StillRunningError says that a controller goes on that is not in the cluster.
type StillRunningError struct {
	// Holder is what it calls itself in its Lease: its host and a unique word.
	Holder string
	// Lease is namespace/name of it.
	Lease string
}

func (e *StillRunningError) Error() string {
	return fmt.Sprintf("a controller still runs outside of the cluster: %q renews the Lease %s: stop it, and run this again", e.Holder, e.Lease)
}

// awaitLease waits until nobody leads: the Lease is given back, or nobody has
// renewed it for as long as it is good. That is measured by the own clock, as
// those who compete for it do, since clocks may differ.
func (r *run) awaitLease(ctx context.Context) error {
	lease, err := r.lease(ctx)
	if err != nil || !held(lease) {
		return err
	}
	good := 15 * time.Second
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		good = time.Duration(*seconds) * time.Second
	}
	holder, began := *lease.Spec.HolderIdentity, time.Now()
	r.say("The Lease %s/%s is held by %s: waiting until it is given back, or %v have gone by without a renewal", lease.Namespace, lease.Name, holder, good)
	for last, since := renewal(lease), began; ; {
		if !installation.Pause(ctx, min(lookEvery, good/4)) {
			return fmt.Errorf("the Lease is held by %s", holder)
		}
		if lease, err = r.lease(ctx); err != nil || !held(lease) {
			return err
		}
		holder = *lease.Spec.HolderIdentity
		if now := renewal(lease); now != last {
			last, since = now, time.Now()
		}
		switch now := time.Now(); {
		case now.Sub(since) >= good:
			return nil
		case now.Sub(began) >= good:
			return &StillRunningError{Holder: holder, Lease: lease.Namespace + "/" + lease.Name}
		}
	}
}

// foretellLease says in a dry run what would be waited for.
func (r *run) foretellLease(ctx context.Context) error {
	lease, err := r.lease(ctx)
	if err == nil && held(lease) {
		r.note("The Lease %s/%s is held by %s: it would be waited for until that gives it back or is silent; if it is no Pod of a Deployment of Dogear, stop it",
			lease.Namespace, lease.Name, *lease.Spec.HolderIdentity)
	}
	return err
}

// lease reads the Lease; nil: there is none.
func (r *run) lease(ctx context.Context) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: r.found.Namespace, Name: installation.Name}
	err := r.client.Get(ctx, key, lease)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the Lease %s: %w", key, err)
	}
	return lease, nil
}

func held(lease *coordinationv1.Lease) bool {
	return lease != nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity != ""
}

// renewal tells one renewal from another.
func renewal(lease *coordinationv1.Lease) string {
	text := *lease.Spec.HolderIdentity
	if t := lease.Spec.RenewTime; t != nil {
		text += " " + t.UTC().Format(time.RFC3339Nano)
	}
	return text
}
