package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

// manyTimes is how many more objects a restart is measured with.
const manyTimes = 5

// restart measures how a process starts among settled objects: how long until
// it has looked at all of them, and that it neither writes nor runs a handler.
func restart(ctx context.Context, b *bench, s scenario) (out []Scenario, err error) {
	n := manyTimes * b.objects
	if err := b.settleAll(ctx, s, n); err != nil {
		return out, err
	}
	samples := map[string][]sample{}
	for round := range b.rounds {
		for _, name := range s.subjects() {
			got, err := b.restartOne(ctx, s, name, round, n)
			if err != nil {
				return out, fmt.Errorf("round %d of %s: %w", round+1, name, err)
			}
			samples[name] = append(samples[name], got)
			b.say("%s: round %d/%d: %-7s %s", s.name(), round+1, b.rounds, name, got)
		}
	}
	for _, name := range s.subjects() {
		if err := b.clear(ctx, namespaceOf(name)); err != nil {
			return out, err
		}
	}
	return compare(s, b.rounds, samples), b.dropSets(ctx)
}

// settleAll creates the objects of all contenders and has them handled.
func (b *bench) settleAll(ctx context.Context, s scenario, n int) (err error) {
	processes, err := b.launchAll(ctx, s)
	defer func() { err = errors.Join(err, stopAll(processes)) }()
	if err != nil {
		return err
	}
	for _, name := range s.subjects() {
		b.say("%s: settling %d objects of %s", s.name(), n, name)
		t := &turn{bench: b, contender: name, namespace: namespaceOf(name), n: n}
		if err := t.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) restartOne(ctx context.Context, s scenario, name string, round, n int) (got sample, err error) {
	got = newSample(n)
	flags := s.flags()
	if name == subject.Dogear || name == subject.HTTP {
		address, err := freeAddress()
		if err != nil {
			return got, err
		}
		flags = append(flags[:len(flags):len(flags)], "-address", address)
	}
	written, err := b.requests(ctx)
	if err != nil {
		return got, err
	}
	p, err := b.launch(name, name, flags...)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	err = p.await(ctx, "look at every object", func(a subject.Answer) bool { return a.Objects >= int64(n) })
	if err != nil {
		return got, err
	}
	got.ready = ms(time.Since(p.began))
	got.rate = float64(n) / (got.ready / 1000)
	time.Sleep(5 * b.quiet()) // a write that comes late is one too
	after, err := b.requests(ctx)
	if err != nil {
		return got, err
	}
	busy, err := p.cpu()
	if err != nil {
		return got, err
	}
	answer, err := p.ask(subject.Look)
	if err != nil {
		return got, err
	}
	got.cpu, got.runs = ms(busy)/float64(n), float64(answer.Runs)
	main, status, events := writesOf(after.Sub(written))
	got.main, got.status, got.events = float64(main)/float64(n), float64(status)/float64(n), float64(events)/float64(n)
	if got.rss, err = p.memory(); err != nil {
		return got, err
	}
	t := &turn{bench: b, contender: name, round: round}
	return got, t.memoryProfile(s, p)
}
