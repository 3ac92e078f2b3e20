package subject

import (
	"context"
	"sync/atomic"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/dogear-dev/dogear/controller"
	"github.com/dogear-dev/dogear/controller/handler"
)

type certificateRequest = handler.Request[*cmapi.Certificate]

// dogear is an operator as a user of the SDK writes one.
func dogear(s settings) (program, error) {
	options := controller.Options{Domain: Domain, Config: s.config, Namespace: s.namespace, Log: s.log, Workers: s.workers}
	if s.address != "" {
		options.Webhook = &controller.Webhook{Address: s.address, URL: "https://" + s.address, LameDuck: -1}
	}
	if s.admission {
		options.Roles = controller.RoleWebhook
	}
	op, err := controller.New(options)
	if err != nil {
		return program{}, err
	}
	var runs atomic.Int64
	handler.Register(op, handler.Spec{ID: "myapp", On: handler.Create | handler.Update, Labels: s.labels()},
		func(_ context.Context, req *certificateRequest) (handler.Result, error) {
			runs.Add(1)
			if req.Attempt < s.attempts {
				return handler.Result{}, handler.Temporary("not yet", handler.After(s.delay))
			}
			return handler.Result{}, nil
		})
	if s.finalizer {
		handler.Register(op, handler.Spec{ID: "cleanup", On: handler.Delete, Labels: s.labels()},
			func(context.Context, *certificateRequest) (handler.Result, error) {
				runs.Add(1)
				return handler.Result{}, nil
			})
	}
	return program{start: op.Start, look: func() Answer {
		return Answer{
			Runs:    runs.Load(),
			Objects: int64(gathered("dogear_objects", "handler", "myapp")),
			Calls:   int64(gathered("dogear_admission_requests_total", "", "")),
		}
	}}, nil
}

// gathered sums a metric of this process over all samples with the label.
func gathered(name, label, value string) float64 {
	families, _ := metrics.Registry.Gather() // those that fail are left out
	sum := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			found := label == ""
			for _, l := range metric.GetLabel() {
				found = found || l.GetName() == label && l.GetValue() == value
			}
			if found {
				sum += metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			}
		}
	}
	return sum
}
