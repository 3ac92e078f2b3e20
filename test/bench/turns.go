package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

// takeTurns measures the contenders one after the other in each round, so that
// whatever else the machine does bears on all of them.
func takeTurns(ctx context.Context, b *bench, s scenario) (out []Scenario, err error) {
	processes, err := b.launchAll(ctx, s)
	defer func() { err = errors.Join(err, stopAll(processes), b.dropSets(ctx)) }()
	if err != nil {
		return out, err
	}
	samples := map[string][]sample{}
	for _, name := range s.subjects() {
		if b.quick {
			break
		}
		b.say("%s: warming up %s", s.name(), name)
		if _, err := b.turn(ctx, s, name, processes[name], -1, max(20, b.objects/5), 0); err != nil {
			return out, fmt.Errorf("warm up %s: %w", name, err)
		}
	}
	for round := range b.rounds {
		for _, name := range order(s, round) {
			rate := 0.0
			if s.share > 0 && name != ceiling {
				rate = s.share * samples[ceiling][round].rate // of just now: a machine that slowed down is not overrun
			}
			got, err := b.turn(ctx, s, name, processes[subjectOf(name)], round, b.objects, rate)
			if err != nil {
				return out, fmt.Errorf("round %d of %s: %w", round+1, name, err)
			}
			samples[name] = append(samples[name], got)
			b.say("%s: round %d/%d: %-7s %s", s.name(), round+1, b.rounds, name, got)
		}
	}
	return compare(s, b.rounds, samples), nil
}

// order has another contender go first in each round; but where objects arrive
// at a share of the ceiling's rate, that must be known.
func order(s scenario, round int) []string {
	if s.share > 0 {
		rest := s.measured()
		if round%2 == 1 {
			slices.Reverse(rest)
		}
		return append([]string{ceiling}, rest...)
	}
	all := s.contenders()
	at := round % len(all)
	return append(slices.Clone(all[at:]), all[:at]...)
}

// compare puts the figures of Dogear beside those of the references, for each
// result of the scenario.
func compare(s scenario, rounds int, samples map[string][]sample) (all []Scenario) {
	summaries := map[string]*Figures{}
	for name, of := range samples {
		summaries[name] = summary(of)
	}
	for _, r := range s.results {
		all = append(all, compareOne(r, rounds, samples, summaries))
	}
	return all
}

func compareOne(r result, rounds int, samples map[string][]sample, summaries map[string]*Figures) Scenario {
	ours := samples[r.of]
	out := Scenario{
		Name: r.name, About: r.about, Rounds: rounds, Figures: *summaries[r.of],
		RatioToCeiling:         ratio(ours, samples[ceiling], rateOf),
		RatioToBare:            ratio(ours, samples[subject.Bare], rateOf),
		RatioToBareNoop:        ratio(ours, samples[bareNoop], rateOf),
		CPURatioToBare:         ratio(ours, samples[subject.Bare], cpuOf),
		CPURatioToBareNoop:     ratio(ours, samples[bareNoop], cpuOf),
		LatencyRatioToBare:     ratio(ours, samples[subject.Bare], p50Of),
		LatencyRatioToBareNoop: ratio(ours, samples[bareNoop], p50Of),
		LatencyRatioToNoop:     ratio(ours, samples[subject.Noop], p50Of),
		References:             map[string]*Figures{},
	}
	if r.of != subject.Dogear {
		sdk := samples[subject.Dogear]
		out.RatioToSDK, out.CPURatioToSDK, out.LatencyRatioToSDK = ratio(ours, sdk, rateOf), ratio(ours, sdk, cpuOf), ratio(ours, sdk, p50Of)
		out.References[theSDK] = summaries[subject.Dogear]
	}
	if r.of == deadSame || r.of == deadOthers {
		by := samples[subject.HTTP]
		out.RatioToAlone, out.CPURatioToAlone, out.LatencyRatioToAlone = ratio(ours, by, rateOf), ratio(ours, by, cpuOf), ratio(ours, by, p50Of)
		out.References[alone] = summaries[subject.HTTP]
	}
	for _, name := range []string{ceiling, subject.Bare, bareNoop, subject.Noop, none} {
		if f := summaries[name]; f != nil {
			out.References[name] = f
		}
	}
	return out
}

// launchAll starts the subjects of a scenario, and waits until their webhooks
// are called.
func (b *bench) launchAll(ctx context.Context, s scenario) (map[string]*process, error) {
	processes := map[string]*process{}
	if err := b.dropWebhooks(ctx); err != nil {
		return processes, err
	}
	if s.overHTTP() {
		if err := b.startEndpoints(ctx); err != nil {
			return processes, err
		}
	}
	for _, name := range s.subjects() {
		p, err := b.launchOne(ctx, s, name)
		if p != nil {
			processes[name] = p
		}
		if err != nil {
			return processes, err
		}
	}
	for _, p := range processes {
		var err error
		if p.name == subject.HTTP {
			err = b.declare(ctx, s)
		}
		switch {
		case err != nil:
		case p.webhook != nil:
			err = b.awaitWebhook(ctx, p.webhook)
		case p.name == subject.HTTP, p.name == subject.Dogear && !s.withoutWebhook:
			err = b.awaitWebhook(ctx, p)
		}
		if err != nil {
			return processes, err
		}
	}
	return processes, nil
}

func (b *bench) launchOne(ctx context.Context, s scenario, name string) (*process, error) {
	switch {
	case name == bareNoop:
		p, err := b.launch(subject.Bare, name, s.flags()...)
		if err != nil {
			return nil, err
		}
		address, err := b.publishNoop(ctx, name)
		if err != nil {
			return p, err
		}
		p.webhook, err = b.launch(subject.Noop, name, "-address", address)
		return p, err
	case name == subject.HTTP, name == subject.Dogear && !s.withoutWebhook:
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		return b.launch(name, name, append(s.flags(), "-address", address)...)
	}
	return b.launch(name, name, s.flags()...)
}

func stopAll(processes map[string]*process) error {
	var errs []error
	for _, p := range processes {
		errs = append(errs, p.stop())
	}
	return errors.Join(errs...)
}

// turn measures one round of one contender. Its objects are made and removed
// outside of the measured part.
func (b *bench) turn(ctx context.Context, s scenario, name string, p *process, round, n int, rate float64) (sample, error) {
	t := &turn{
		bench: b, contender: name, namespace: namespaceOf(subjectOf(name)), round: round, n: n, rate: rate, asked: make([]atomic.Int64, n),
	}
	if s.load.prepare != nil {
		if err := s.load.prepare(ctx, t); err != nil {
			return sample{}, err
		}
	}
	var got sample
	remove, err := t.neighbour(ctx)
	switch {
	case err != nil:
	case name == ceiling:
		got, err = t.direct(ctx, s.load)
	default:
		got, err = t.measured(ctx, s, p)
	}
	return got, errors.Join(err, b.clear(ctx, t.namespace), remove())
}

// direct is the turn of the ceiling.
func (t *turn) direct(ctx context.Context, l load) (sample, error) {
	got := newSample(t.n)
	began := time.Now()
	// As many requests under way as those of the driver and of a subject.
	err := each(ctx, t.n, 2*workers, func(ctx context.Context, i int) error { return l.direct(ctx, t, i) })
	got.rate = float64(t.n) / time.Since(began).Seconds()
	return got, err
}

// measured is the turn of a subject.
func (t *turn) measured(ctx context.Context, s scenario, p *process) (got sample, err error) {
	got = newSample(t.n)
	if t.observer, err = t.observe(ctx, t.contender, 0, t.n); err != nil {
		return got, err
	}
	defer t.observer.stop()
	written, err := t.requests(ctx)
	if err != nil {
		return got, err
	}
	profile, err := t.profile(s, p)
	if err != nil {
		return got, err
	}
	busy, err := p.cpu()
	if err != nil {
		return got, err
	}
	began := time.Now()
	if err := s.load.run(ctx, t); err != nil {
		return got, err
	}
	ended := last(t.observer.handled)
	if s.load.ends == whenGone {
		ended = last(t.observer.gone)
	}
	after, err := t.requests(ctx) // what is still under way belongs to it
	if err != nil {
		return got, err
	}
	busyAfter, err := p.cpu()
	if err != nil {
		return got, err
	}
	if err := profile(); err != nil {
		return got, err
	}
	n := float64(t.n)
	got.rate = n / ended.Sub(began).Seconds()
	got.cpu = ms(busyAfter-busy) / n
	got.latencies(t.waits())
	main, status, events := writesOf(after.Sub(written))
	got.main, got.status, got.events = float64(main)/n-float64(s.load.own), float64(status)/n, float64(events)/n
	got.rss, err = p.memory()
	return got, err
}

// waits are the times from the answer to a request until the event that shows
// that the object is handled. An event can be faster than the answer: 0.
func (t *turn) waits() []time.Duration {
	waits := make([]time.Duration, t.n)
	for i := range waits {
		waits[i] = time.Duration(max(0, t.observer.handled[i].Load()-t.asked[i].Load()))
	}
	return waits
}

// profile has Dogear profiled, in the last round, if that is asked for. What
// it returns ends the profile.
func (t *turn) profile(s scenario, p *process) (end func() error, err error) {
	if t.cpuProfile == "" || t.profiled(s) == "" {
		return func() error { return t.memoryProfile(s, p) }, nil
	}
	if _, err := p.ask(subject.StartCPUProfile + " " + t.cpuProfile + t.profiled(s) + ".cpu.pprof"); err != nil {
		return nil, err
	}
	return func() error {
		_, err := p.ask(subject.StopCPUProfile)
		return errors.Join(err, t.memoryProfile(s, p))
	}, nil
}

func (t *turn) memoryProfile(s scenario, p *process) error {
	if t.memProfile == "" || t.profiled(s) == "" {
		return nil
	}
	_, err := p.ask(subject.WriteHeapProfile + " " + t.memProfile + t.profiled(s) + ".mem.pprof")
	return err
}

// profiled is the name of the result that the turn counts for if it is to be
// profiled, else "".
func (t *turn) profiled(s scenario) string {
	for _, r := range s.results {
		if r.of == t.contender && t.round == t.rounds-1 {
			return r.name
		}
	}
	return ""
}

// String is for the progress.
func (s sample) String() string {
	var text string
	for _, figure := range []struct {
		format string
		value  float64
	}{
		{"%6.0f/s", s.rate}, {"  p50 %.2f ms", s.p50}, {"  p99 %.2f ms", s.p99}, {"  cpu %.2f ms", s.cpu},
		{"  %.2f writes", s.main}, {"  ready %.0f ms", s.ready}, {"  %.0f runs", s.runs}, {"  %.0f MiB", s.rss},
	} {
		if !math.IsNaN(figure.value) {
			text += fmt.Sprintf(figure.format, figure.value)
		}
	}
	return text
}
