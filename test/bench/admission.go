package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/bench/subject"
	"github.com/dogear-dev/dogear/webhook"
	"github.com/dogear-dev/dogear/webhook/cert"
)

// admitters are compared request by request: one object of each in turn.
var admitters = []string{none, subject.Noop, subject.Dogear}

// admission measures what a request takes that goes through a webhook. Dogear
// serves admission only, as in a Deployment of its own: so its controller does
// not take the CPU from the next request.
func admission(ctx context.Context, b *bench, s scenario) (out []Scenario, err error) {
	updates := strings.HasSuffix(s.name(), "update")
	n := b.objects / 2
	all := n
	if updates {
		all = n * (b.rounds + 1) // each object changes once
	}
	if err := b.prepareAdmission(ctx, s, updates, all); err != nil {
		return out, err
	}
	processes, err := b.launchAdmitters(ctx)
	defer func() { err = errors.Join(err, stopAll(processes), b.dropWebhooks(ctx)) }()
	if err != nil {
		return out, err
	}
	samples := map[string][]sample{}
	for round := -1; round < b.rounds; round++ { // the first warms up
		first := 0
		if updates {
			first = (round + 1) * n
		}
		got, err := b.admitInTurn(ctx, updates, round, first, n, processes)
		if err != nil {
			return out, err
		}
		for _, name := range admitters {
			if round >= 0 {
				samples[name] = append(samples[name], got[name])
				b.say("%s: round %d/%d: %-7s %s", s.name(), round+1, b.rounds, name, got[name])
			}
			if !updates {
				err = errors.Join(err, b.clear(ctx, namespaceOf(name)))
			}
		}
		if err != nil {
			return out, err
		}
	}
	for _, name := range admitters {
		if err := b.clear(ctx, namespaceOf(name)); err != nil {
			return out, err
		}
	}
	return compare(s, b.rounds, samples), nil
}

// prepareAdmission has a whole operator publish its webhook, and handle the
// objects that are to change.
func (b *bench) prepareAdmission(ctx context.Context, s scenario, updates bool, n int) (err error) {
	b.say("%s: setting up", s.name())
	processes, err := b.launchAll(ctx, s)
	defer func() { err = errors.Join(err, stopAll(processes)) }()
	if err != nil || !updates {
		return err
	}
	for _, name := range admitters {
		t := &turn{bench: b, contender: name, namespace: namespaceOf(name), n: n}
		settle := t.settle
		if name != subject.Dogear {
			settle = func(ctx context.Context) error { return each(ctx, n, workers, t.create) }
		}
		if err := settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) launchAdmitters(ctx context.Context) (map[string]*process, error) {
	processes := map[string]*process{}
	// The address is that of the configuration which the operator has published.
	address, err := b.publishedAddress(ctx)
	if err != nil {
		return processes, err
	}
	other, err := b.publishNoop(ctx, subject.Noop)
	if err != nil {
		return processes, err
	}
	for name, flags := range map[string][]string{
		subject.Dogear: {"-admission-only", "-address", address},
		subject.Noop:   {"-address", other},
	} {
		if processes[name], err = b.launch(name, name, flags...); err != nil {
			return processes, err
		}
		if err := b.awaitWebhook(ctx, processes[name]); err != nil {
			return processes, err
		}
	}
	return processes, nil
}

// publishNoop makes the certificate and the configuration of a no-op webhook
// for the objects of a contender, like those of Dogear's, and returns where it
// has to listen.
func (b *bench) publishNoop(ctx context.Context, contender string) (string, error) {
	address, err := freeAddress()
	if err != nil {
		return "", err
	}
	namespace := namespaceOf(contender)
	manager := &cert.Manager{
		Client: b.admin, Names: []string{"127.0.0.1"},
		Secret: types.NamespacedName{Namespace: namespace, Name: subject.CertificateSecret},
	}
	bundle, err := manager.Ensure(ctx)
	if err != nil {
		return "", err
	}
	rule := webhook.Rule{Resource: certificates, Namespaced: true, LabelSelector: onlyFor(contender)}
	configuration, err := webhook.Configuration([]webhook.Rule{rule}, webhook.ConfigOptions{
		Name: contender + "." + subject.Domain, Domain: "noop." + subject.Domain, CABundle: bundle.CABundle(),
		URL: "https://" + address + "/admit", ServiceAccounts: []string{"system:serviceaccount:" + namespace + ":subject"},
	})
	if err != nil {
		return "", err
	}
	return address, b.admin.Create(ctx, configuration)
}

// admitInTurn sends one request of each kind after the other and times them.
func (b *bench) admitInTurn(ctx context.Context, updates bool, round, first, n int, processes map[string]*process) (map[string]sample, error) {
	took, busy := map[string][]time.Duration{}, map[string]time.Duration{}
	for name, p := range processes {
		var err error
		if busy[name], err = p.cpu(); err != nil {
			return nil, err
		}
	}
	for i := first; i < first+n; i++ {
		for j := range admitters {
			name := admitters[(i+j)%len(admitters)]
			began := time.Now()
			err := b.admitted(ctx, updates, round, name, i)
			took[name] = append(took[name], time.Since(began))
			if err != nil {
				return nil, fmt.Errorf("request %d of %s: %w", i, name, err)
			}
		}
	}
	samples := map[string]sample{}
	for _, name := range admitters {
		got := newSample(n)
		got.latencies(took[name])
		if p := processes[name]; p != nil {
			after, err := p.cpu()
			if err != nil {
				return nil, err
			}
			got.cpu = ms(after-busy[name]) / float64(n)
			if got.rss, err = p.memory(); err != nil {
				return nil, err
			}
		}
		samples[name] = got
	}
	return samples, nil
}

func (b *bench) admitted(ctx context.Context, updates bool, round int, name string, i int) error {
	if updates {
		return b.change(ctx, namespaceOf(name), i, round+1)
	}
	return b.create(ctx, name, i)
}

// publishedAddress is where the configuration says that Dogear listens.
func (b *bench) publishedAddress(ctx context.Context) (string, error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := b.admin.Get(ctx, client.ObjectKey{Name: "dogear." + subject.Domain}, configuration); err != nil {
		return "", err
	}
	target, err := url.Parse(*configuration.Webhooks[0].ClientConfig.URL)
	if err != nil {
		return "", err
	}
	return target.Host, nil
}

func onlyFor(contender string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{subject.Label: contender}}
}
