package webhook

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Decisions of the server itself, where the [Admitter] was not asked or failed.
const (
	DecisionInvalid  = "invalid"   // 400 or 415: not an AdmissionReview
	DecisionTooLarge = "too-large" // 413
	DecisionBusy     = "busy"      // 429: no turn or no memory
	DecisionDraining = "draining"  // 429: the server is stopping
	DecisionPanic    = "panic"     // 500: the admitter panicked
	DecisionNoAnswer = "no-answer" // 500: the admitter gave no response
)

// Metrics counts and times admission requests. Nil does nothing.
type Metrics struct {
	requests *prometheus.CounterVec
	duration prometheus.Histogram
}

// NewMetrics makes the metrics of a server and registers them:
//
//   - dogear_admission_requests_total by operation and decision
//   - dogear_admission_duration_seconds, without the writing of the answer
//   - dogear_webhook_certificate_expiry_timestamp_seconds, from notAfter; 0
//     while no certificate is loaded
//
// It fails if one of them is registered already.
func NewMetrics(registerer prometheus.Registerer, notAfter func() time.Time) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dogear_admission_requests_total",
			Help: "Admission requests by operation and by what was decided.",
		}, []string{"operation", "decision"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "dogear_admission_duration_seconds",
			Help:    "Time from the headers of an admission request to its answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}),
	}
	expiry := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "dogear_webhook_certificate_expiry_timestamp_seconds",
		Help: "When the serving certificate expires, as Unix time; 0 without one.",
	}, func() float64 {
		if at := notAfter(); !at.IsZero() {
			return float64(at.Unix())
		}
		return 0
	})
	var faults error
	for _, collector := range []prometheus.Collector{m.requests, m.duration, expiry} {
		faults = errors.Join(faults, registerer.Register(collector))
	}
	if faults != nil {
		return nil, fmt.Errorf("register the metrics of the webhook: %w", faults)
	}
	return m, nil
}

func (m *Metrics) observe(operation, decision string, took time.Duration) {
	if m == nil {
		return
	}
	m.requests.WithLabelValues(operation, decision).Inc()
	m.duration.Observe(took.Seconds())
}
