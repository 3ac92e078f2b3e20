package webhook

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// FieldManager is the one name under which Dogear writes.
	FieldManager = "dogear"

	defaultPeriod = time.Minute
	// retryPause is how soon Run looks again after a fault.
	retryPause = 5 * time.Second
)

// Publisher keeps the webhook configuration in the cluster as it is built, and
// repairs it on a period. To delete it is a cluster administrator's emergency
// exit, which always works: a configuration that was there and is gone is not
// made again before a whole period is over. To keep it away, stop Dogear.
//
// Its RBAC is get and patch on this one configuration, and create.
type Publisher struct {
	// Client needs no cache.
	Client client.Client
	// Build makes the configuration, see [Configuration]. It is called for each
	// look, so it is the place to bring certificates up to date. Its error
	// leaves the cluster as it is.
	Build func(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error)
	// Period is how often Run looks; 0 means 60 seconds.
	Period time.Duration
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// Published is called after each look that found, or made, all as it should
	// be; nil: nothing is.
	Published func()
	// Log gets a line for each change and each fault.
	Log logr.Logger

	lock sync.Mutex
	seen string    // the name of the configuration that was last there
	gone time.Time // since when it is not; zero while it is there
}

// Run publishes at once and then on the period, until ctx ends; then it returns
// nil. Let only one replica run it: a second would do no harm, but no good.
func (p *Publisher) Run(ctx context.Context) error {
	for {
		pause := p.period()
		if err := p.Publish(ctx); err != nil && ctx.Err() == nil {
			p.Log.Error(err, "Publishing the webhook configuration failed, will retry")
			pause = min(pause, retryPause)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// Publish looks once and writes if need be. Call it when what is declared has
// changed, as often as you like. A conflict with another writer is an error; the
// next look sorts it out.
func (p *Publisher) Publish(ctx context.Context) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	want, err := p.Build(ctx)
	if err != nil {
		return fmt.Errorf("build the webhook configuration: %w", err)
	}
	for i := range want.Webhooks {
		if len(want.Webhooks[i].ClientConfig.CABundle) == 0 {
			return fmt.Errorf("publish webhook %q: %w", want.Webhooks[i].Name, ErrEmptyCABundle)
		}
	}
	have := &admissionregistrationv1.MutatingWebhookConfiguration{}
	err = p.Client.Get(ctx, types.NamespacedName{Name: want.Name}, have)
	switch {
	case apierrors.IsNotFound(err):
		err = p.create(ctx, want)
	case err == nil:
		p.seen, p.gone = want.Name, time.Time{}
		err = p.patch(ctx, have, want)
	}
	if err != nil {
		return fmt.Errorf("publish webhook configuration %q: %w", want.Name, err)
	}
	if p.Published != nil {
		p.Published()
	}
	return nil
}

func (p *Publisher) create(ctx context.Context, want *admissionregistrationv1.MutatingWebhookConfiguration) error {
	if p.seen == want.Name {
		if p.gone.IsZero() {
			p.gone = p.now()
			p.Log.Info("The webhook configuration was deleted, it will be made again later", "name", want.Name, "after", p.period())
		}
		if p.now().Before(p.gone.Add(p.period())) {
			return nil
		}
	}
	if err := p.Client.Create(ctx, want.DeepCopy(), client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	p.seen, p.gone = want.Name, time.Time{}
	p.Log.Info("Created the webhook configuration", "name", want.Name, "webhooks", len(want.Webhooks))
	return nil
}

// patch is refused with a conflict if the object is not what was read: a list
// of webhooks is replaced as a whole.
func (p *Publisher) patch(ctx context.Context, have, want *admissionregistrationv1.MutatingWebhookConfiguration) error {
	if upToDate(have, want) {
		return nil
	}
	changed := have.DeepCopy()
	changed.Webhooks = want.DeepCopy().Webhooks
	if changed.Labels == nil && len(want.Labels) > 0 {
		changed.Labels = map[string]string{}
	}
	maps.Copy(changed.Labels, want.Labels)
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	if err := p.Client.Patch(ctx, changed, patch, client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	p.Log.Info("Changed the webhook configuration", "name", want.Name, "webhooks", len(want.Webhooks))
	return nil
}

func (p *Publisher) period() time.Duration {
	if p.Period <= 0 {
		return defaultPeriod
	}
	return p.Period
}

func (p *Publisher) now() time.Time {
	if p.Clock == nil {
		return time.Now()
	}
	return p.Clock()
}
