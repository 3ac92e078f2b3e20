package main

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

func TestQuantileIsAValueThatWasMeasured(t *testing.T) {
	hundred := make([]int, 100)
	for i := range hundred {
		hundred[i] = 100 - i
	}
	for _, c := range []struct {
		of   []int
		q    float64
		want int
	}{
		{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 1, 100}, {hundred, 0, 1},
		{[]int{7}, 0.5, 7}, {[]int{7}, 0.99, 7}, {[]int{2, 1}, 0.5, 1}, {[]int{3, 1, 2}, 0.99, 3},
	} {
		if got := quantile(c.of, c.q); got != c.want {
			t.Errorf("quantile %v of %d values is %d, want %d", c.q, len(c.of), got, c.want)
		}
	}
	if hundred[0] != 100 {
		t.Error("quantile has sorted its argument")
	}
}

func TestMedianLeavesOutWhatDoesNotApply(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		of   []float64
		want float64
	}{
		{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 2, 3}, 2.5}, {[]float64{none, 5, none}, 5}, {[]float64{none}, none}, {nil, none},
	} {
		if got := median(c.of); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) {
			t.Errorf("median of %v is %v, want %v", c.of, got, c.want)
		}
	}
}

// A machine that is twice as slow in one round changes no ratio.
func TestRatiosAreTakenWithinARound(t *testing.T) {
	ours, theirs := []sample{}, []sample{}
	for _, speed := range []float64{1, 0.5, 0.1} {
		a, b := newSample(10), newSample(10)
		a.rate, b.rate = 90*speed, 100*speed
		ours, theirs = append(ours, a), append(theirs, b)
	}
	if got := ratio(ours, theirs, rateOf); got == nil || *got != 0.9 {
		t.Errorf("ratio is %v, want 0.9", number(got, 3))
	}
	if got := ratio(ours, theirs, cpuOf); got != nil {
		t.Errorf("ratio of what was not measured is %v, want none", *got)
	}
	if got := ratio(ours, nil, rateOf); got != nil {
		t.Errorf("ratio to nobody is %v, want none", *got)
	}
}

func TestSummary(t *testing.T) {
	var samples []sample
	for i := range 3 {
		s := newSample(10)
		s.rate, s.main, s.status, s.events = float64(100+i), 1, 0, 0.5
		s.latencies([]time.Duration{time.Duration(i+1) * time.Millisecond})
		samples = append(samples, s)
	}
	f := summary(samples)
	if *f.Rate != 101 || *f.RateSpread != (Spread{100, 102}) || *f.LatencyMs != (Latency{2, 2}) {
		t.Errorf("rate %v %+v, latency %+v", *f.Rate, f.RateSpread, f.LatencyMs)
	}
	if *f.WritesPerObject != (Writes{1, 0, 0.5}) || f.Objects != 10 {
		t.Errorf("writes %+v of %d objects", f.WritesPerObject, f.Objects)
	}
	if f.CPUMsPerObject != nil || f.CPUSpreadMs != nil || f.ReadyMs != nil || f.HandlerRuns != nil || f.RSSMiB != nil {
		t.Errorf("what does not apply is there: %+v", f)
	}
	if summary(nil) != nil {
		t.Error("no rounds give figures")
	}
}

func TestOrderGivesEachContenderEachPlace(t *testing.T) {
	contenders := scenario{behindNoop: true}.contenders()
	seen := map[string]map[int]bool{}
	for round := range len(contenders) {
		for at, name := range order(scenario{behindNoop: true}, round) {
			if seen[name] == nil {
				seen[name] = map[int]bool{}
			}
			seen[name][at] = true
		}
	}
	for _, name := range contenders {
		if len(seen[name]) != len(contenders) {
			t.Errorf("%s had places %v", name, seen[name])
		}
	}
	service := scenario{results: []result{{of: deadSame}}}
	if got := service.contenders(); !slices.Equal(got, []string{ceiling, subject.Bare, subject.Dogear, subject.HTTP, deadSame}) {
		t.Errorf("contenders of a scenario of the service: %v", got)
	}
	for round := range 4 {
		got := order(scenario{share: 0.5, behindNoop: true}, round)
		if got[0] != ceiling || len(got) != len(contenders) {
			t.Errorf("round %d at a share of the ceiling: %v", round, got)
		}
	}
	if got := order(scenario{}, 0); !slices.Equal(got, []string{"ceiling", "bare", "dogear"}) {
		t.Errorf("order of the first round: %v", got)
	}
}
