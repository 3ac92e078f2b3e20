package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// FieldManager is the one name under which Dogear writes.
	FieldManager = "dogear"

	defaultPeriod = time.Minute
	// retryPause is how soon Run looks again after a fault, whatever the look
	// was for.
	retryPause = 5 * time.Second
)

// Publisher keeps the webhook configurations in the cluster as they are built,
// and repairs them on a period. To delete one is a cluster administrator's
// emergency exit, which always works: a configuration that was there and is gone
// is not made again before a whole period is over. To keep it away, stop Dogear.
//
// Its RBAC is get and patch on these configurations, and create. Without the
// rights for one the other is published all the same.
type Publisher struct {
	// Client needs no cache.
	Client client.Client
	// Build makes the configuration, see [Configuration]. It is called for each
	// look, so it is the place to bring certificates up to date. Its error
	// leaves the cluster as it is.
	Build func(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error)
	// BuildValidating makes that of a [Validation] likewise; nil: there is none.
	BuildValidating func(ctx context.Context) (*admissionregistrationv1.ValidatingWebhookConfiguration, error)
	// Period is how often Run looks; 0 means 60 seconds.
	Period time.Duration
	// Wake has Run look at once, besides; nil: nothing does.
	Wake <-chan struct{}
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	// Published is called after each look by which what Build has made is in the
	// cluster, and not where it was deleted and is to be made later; nil: nothing
	// is.
	Published func()
	// Log gets a line for each change and each fault.
	Log logr.Logger

	lock                 sync.Mutex
	mutating, validating presence
}

// presence tells whether a configuration is in the cluster.
type presence struct {
	seen string    // the name of the configuration that was last there
	gone time.Time // since when it is not; zero while it is there
}

// Run publishes at once, on the period and when it is woken, until ctx ends; then
// it returns nil. Let only one replica run it: a second would do no harm, but no
// good.
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
		case <-p.Wake:
		case <-time.After(pause):
		}
	}
}

// Publish looks once and writes if need be. A conflict with another writer is an
// error; the next look sorts it out.
func (p *Publisher) Publish(ctx context.Context) error {
	p.lock.Lock()
	defer p.lock.Unlock()
	there, err := p.publishMutating(ctx)
	if there && p.Published != nil {
		p.Published()
	}
	return errors.Join(err, p.publishValidating(ctx))
}

func (p *Publisher) publishMutating(ctx context.Context) (there bool, err error) {
	want, err := p.Build(ctx)
	if err != nil {
		return false, fmt.Errorf("build the webhook configuration: %w", err)
	}
	for i := range want.Webhooks {
		if len(want.Webhooks[i].ClientConfig.CABundle) == 0 {
			return false, fmt.Errorf("publish webhook %q: %w", want.Webhooks[i].Name, ErrEmptyCABundle)
		}
	}
	have := &admissionregistrationv1.MutatingWebhookConfiguration{}
	return p.publish(ctx, &p.mutating, configurationKind{
		name: "mutating", want: want, have: have,
		upToDate: func() bool { return upToDate(have, want) },
		repair:   func() { have.Webhooks = want.DeepCopy().Webhooks },
	})
}

func (p *Publisher) publishValidating(ctx context.Context) error {
	if p.BuildValidating == nil {
		return nil
	}
	want, err := p.BuildValidating(ctx)
	if err != nil {
		return fmt.Errorf("build the validating webhook configuration: %w", err)
	}
	have := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	_, err = p.publish(ctx, &p.validating, configurationKind{
		name: "validating", want: want, have: have,
		upToDate: func() bool { return upToDateValidating(have, want) },
		repair:   func() { have.Webhooks = want.DeepCopy().Webhooks },
	})
	return err
}

// configurationKind is what the two kinds of configurations differ in.
type configurationKind struct {
	name       string
	want, have client.Object // have is filled in from the cluster
	upToDate   func() bool   // have does what want says
	repair     func()        // gives have the webhooks of want
}

// publish makes one configuration what it should be, unless it was deleted.
func (p *Publisher) publish(ctx context.Context, at *presence, kind configurationKind) (there bool, err error) {
	name := kind.want.GetName()
	err = p.Client.Get(ctx, client.ObjectKeyFromObject(kind.want), kind.have)
	switch {
	case apierrors.IsNotFound(err):
		there, err = p.create(ctx, at, kind)
	case err == nil:
		at.seen, at.gone = name, time.Time{}
		there, err = true, p.patch(ctx, kind)
	}
	if err != nil {
		return false, fmt.Errorf("publish %s webhook configuration %q: %w", kind.name, name, err)
	}
	return there, nil
}

func (p *Publisher) create(ctx context.Context, at *presence, kind configurationKind) (there bool, err error) {
	name := kind.want.GetName()
	if at.seen == name {
		if at.gone.IsZero() {
			at.gone = p.now()
			p.Log.Info("The webhook configuration was deleted, it will be made again later", "kind", kind.name, "name", name, "after", p.period())
		}
		if p.now().Before(at.gone.Add(p.period())) {
			return false, nil
		}
	}
	if err := p.Client.Create(ctx, kind.want.DeepCopyObject().(client.Object), client.FieldOwner(FieldManager)); err != nil {
		return false, err
	}
	at.seen, at.gone = name, time.Time{}
	p.Log.Info("Created the webhook configuration", "kind", kind.name, "name", name)
	return true, nil
}

// patch is refused with a conflict if the object is not what was read: a list
// of webhooks is replaced as a whole.
func (p *Publisher) patch(ctx context.Context, kind configurationKind) error {
	followInjector(kind.have, kind.want)
	if kind.upToDate() {
		return nil
	}
	before := kind.have.DeepCopyObject().(client.Object)
	kind.repair()
	labels := kind.have.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, kind.want.GetLabels())
	kind.have.SetLabels(labels)
	askInjector(kind.have, kind.want)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := p.Client.Patch(ctx, kind.have, patch, client.FieldOwner(FieldManager)); err != nil {
		return err
	}
	p.Log.Info("Changed the webhook configuration", "kind", kind.name, "name", kind.want.GetName())
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
