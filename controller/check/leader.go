package check

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func (r *round) leaderChecks() []Check {
	return []Check{{Group: "controller", Name: "leader", Link: "there-is-no-leader", Run: r.leader}}
}

// renewalWait is for how long a renewal is waited for that seems to be late:
// the clock of this machine may be wrong.
const renewalWait = 5 * time.Second

func (r *round) leader(ctx context.Context) Result {
	p, err := r.place(ctx)
	if err != nil {
		return r.unread(err)
	}
	if p.unset == nil && !p.settings.leaderElect {
		return skipped("leaders are not elected (leaderElect: false)")
	}
	const hint = "see whether a Pod of the controller runs, and its log; with no leader nothing is handled, while admission goes on"
	lease, err := r.lease(ctx, p)
	switch {
	case apierrors.IsNotFound(err) && len(p.Deployments) == 0:
		return skipped("there is no Lease %s, so leaders are not elected, or there never was one", r.prefix)
	case apierrors.IsNotFound(err):
		return failed("there is no Lease %s in namespace %s: no controller has come up yet", r.prefix, p.Namespace).hint(hint)
	case err != nil:
		return r.unread(err)
	}
	holder := ""
	if lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	if holder == "" || lease.Spec.RenewTime == nil {
		return failed("nobody holds the Lease: the last leader has given it back").hint(hint)
	}
	now := r.options.Clock.Now()
	age := now.Sub(lease.Spec.RenewTime.Time)
	since := ""
	if lease.Spec.AcquireTime != nil {
		since = ", leader for " + span(now.Sub(lease.Spec.AcquireTime.Time))
	}
	if age <= patience(lease) {
		return passed("%s, renewed %s ago%s", holder, span(max(age, 0)), since)
	}
	select {
	case <-ctx.Done():
	case <-r.options.Clock.After(renewalWait):
	}
	again, err := r.lease(ctx, p)
	if err != nil {
		return r.unread(err)
	}
	if again.Spec.RenewTime != nil && again.Spec.RenewTime.After(lease.Spec.RenewTime.Time) {
		return passed("%s, renewed just now; the clock of this machine is ahead of its by about %s", holder, span(age))
	}
	return failed("%s holds the Lease, but has not renewed it for %s", holder, span(age)).hint(hint)
}

func (r *round) lease(ctx context.Context, p *place) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	return lease, r.client.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: string(r.prefix)}, lease)
}

// patience is how long a Lease is good for after it was renewed.
func patience(lease *coordinationv1.Lease) time.Duration {
	if s := lease.Spec.LeaseDurationSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return 15 * time.Second
}
