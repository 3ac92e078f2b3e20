package controller

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// errLapsed: this process may no longer be the leader, so it must not write.
var errLapsed = errors.New("the Lease was not renewed in time: another process may be the leader")

// lapsedWait is the pause before a process that could not renew its Lease
// looks whether it has done so after all.
const lapsedWait = time.Second

// lease is the lock of the leader election. It knows for itself until when this
// process leads: one that was paused goes on before the election tells it that
// others have taken over.
type lease struct {
	resourcelock.Interface
	clock clock.PassiveClock
	// good is for how long a renewal counts: shorter than others wait.
	good time.Duration

	mu      sync.Mutex
	renewed time.Time // when the last renewal began
}

// Default times of a Lease, those of controller-runtime.
const (
	defaultLeaseDuration = 15 * time.Second
	defaultRenewDeadline = 10 * time.Second
	defaultRetryPeriod   = 2 * time.Second
)

func newLease(config *rest.Config, namespace, name string, good time.Duration, c clock.PassiveClock) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	config = rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	config.Timeout = max(good/2, time.Second) // so that a request that hangs does not cost the Lease
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	coordination, err := coordinationv1client.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, name, core, coordination,
		resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())})
	if err != nil {
		return nil, err
	}
	return &lease{Interface: lock, clock: c, good: good}, nil
}

// Create implements resourcelock.Interface.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	began := l.clock.Now()
	return l.note(l.Interface.Create(ctx, record), record, began)
}

// Update implements resourcelock.Interface.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	began := l.clock.Now()
	return l.note(l.Interface.Update(ctx, record), record, began)
}

func (l *lease) note(err error, record resourcelock.LeaderElectionRecord, began time.Time) error {
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.renewed = began; record.HolderIdentity != l.Identity() {
		l.renewed = time.Time{} // given back
	}
	return nil
}

// held tells whether nobody else can be the leader yet: by the wall clock, and
// by the monotonic one, of which the first may be set and the second may stand
// still while a machine sleeps. Without an election it is always so.
func (l *lease) held() bool {
	if l == nil {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	return !l.renewed.IsZero() && now.Sub(l.renewed) < l.good && now.Round(0).Sub(l.renewed.Round(0)) < l.good
}
