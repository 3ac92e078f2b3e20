package controller

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// The metric vectors of all operators in the process. Nothing is labelled by
// object: that would grow without bound.
var (
	handlerRuns = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dogear_handler_runs_total",
		Help: "Attempts of handlers that have ended, by outcome: Succeeded, Waiting, Retrying, Failed.",
	}, []string{"handler", "outcome"})
	handlerDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "dogear_handler_duration_seconds",
		Help:    "Time that attempts of handlers took.",
		Buckets: []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300},
	}, []string{"handler"})
	objectStates = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "dogear_objects",
		Help: "Objects that a handler selects, by where it stands on them.",
	}, []string{"handler", "state"})
	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dogear_writes_total",
		Help: "Requests that changed an object: marker (with finalizer and patches), status.",
	}, []string{"kind"})
	statusFallbacks = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dogear_status_fallback_total",
		Help: "Payloads that .status did not keep, so that they went to the annotation.",
	})
	blockedObjects = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "dogear_blocked",
		Help: "Objects whose state cannot be written at present.",
	})
	pending = &pendingCollector{operators: map[*tracker]struct{}{}, description: prometheus.NewDesc(
		"dogear_oldest_pending_seconds",
		"How long the object has been unfinished that has been for longest; 0: none is.", nil, nil)}
)

func init() {
	metrics.Registry.MustRegister(handlerRuns, handlerDuration, objectStates, writes, statusFallbacks, blockedObjects, pending)
}

// pendingCollector reports the oldest over all operators of the process.
type pendingCollector struct {
	mu          sync.Mutex
	operators   map[*tracker]struct{}
	description *prometheus.Desc
}

func (c *pendingCollector) add(t *tracker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.operators[t] = struct{}{}
}

func (c *pendingCollector) remove(t *tracker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.operators, t)
}

// Describe implements prometheus.Collector.
func (c *pendingCollector) Describe(out chan<- *prometheus.Desc) { out <- c.description }

// Collect implements prometheus.Collector.
func (c *pendingCollector) Collect(out chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var longest time.Duration
	for t := range c.operators {
		longest = max(longest, t.oldest(time.Now()))
	}
	out <- prometheus.MustNewConstMetric(c.description, prometheus.GaugeValue, longest.Seconds())
}
