package main

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// sample is what one round gave of one contender. NaN: does not apply.
type sample struct {
	objects      int
	rate         float64
	p50, p99     float64 // ms
	cpu          float64 // ms an object
	rss          float64 // MiB
	main, status float64 // writes an object
	events       float64
	ready, runs  float64
}

// newSample is one in which nothing applies yet.
func newSample(objects int) sample {
	none := math.NaN()
	return sample{objects, none, none, none, none, none, none, none, none, none, none}
}

func (s *sample) latencies(of []time.Duration) {
	s.p50, s.p99 = ms(quantile(of, 0.5)), ms(quantile(of, 0.99))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quantile is the smallest value that at least the share q is not above.
func quantile[T cmp.Ordered](of []T, q float64) T {
	sorted := slices.Sorted(slices.Values(of))
	at := int(math.Ceil(q*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// median of those that apply; NaN if none does. Of an even number it is the
// mean of the two in the middle.
func median(of []float64) float64 {
	of = slices.DeleteFunc(slices.Clone(of), math.IsNaN)
	if len(of) == 0 {
		return math.NaN()
	}
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}

func pick(samples []sample, get func(sample) float64) []float64 {
	values := make([]float64, len(samples))
	for i, s := range samples {
		values[i] = get(s)
	}
	return values
}

// ratio is the median of the ratios within each round: a load that comes and
// goes bears on both of them alike.
func ratio(a, b []sample, get func(sample) float64) *float64 {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, get(a[i])/get(b[i]))
	}
	return orNull(median(ratios))
}

// summary is the figures of a contender over all rounds.
func summary(samples []sample) *Figures {
	if len(samples) == 0 {
		return nil
	}
	of := func(get func(sample) float64) float64 { return median(pick(samples, get)) }
	f := &Figures{
		Objects:        samples[0].objects,
		Rate:           orNull(of(rateOf)),
		RateSpread:     spread(pick(samples, rateOf)),
		P50SpreadMs:    spread(pick(samples, p50Of)),
		CPUMsPerObject: orNull(of(cpuOf)),
		CPUSpreadMs:    spread(pick(samples, cpuOf)),
		RSSMiB:         orNull(of(func(s sample) float64 { return s.rss })),
		ReadyMs:        orNull(of(func(s sample) float64 { return s.ready })),
		HandlerRuns:    orNull(of(func(s sample) float64 { return s.runs })),
	}
	if p50 := of(p50Of); !math.IsNaN(p50) {
		f.LatencyMs = &Latency{P50: round3(p50), P99: round3(of(func(s sample) float64 { return s.p99 }))}
	}
	if main := of(func(s sample) float64 { return s.main }); !math.IsNaN(main) {
		f.WritesPerObject = &Writes{
			Main:   round3(main),
			Status: round3(of(func(s sample) float64 { return s.status })),
			Events: round3(of(func(s sample) float64 { return s.events })),
		}
	}
	return f
}

func rateOf(s sample) float64 { return s.rate }
func p50Of(s sample) float64  { return s.p50 }
func cpuOf(s sample) float64  { return s.cpu }

func spread(of []float64) *Spread {
	if math.IsNaN(median(of)) {
		return nil
	}
	return &Spread{Min: round3(slices.Min(of)), Max: round3(slices.Max(of))}
}

func orNull(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return new(round3(v))
}

func round3(v float64) float64 { return math.Round(v*1000) / 1000 }
