package subject

import (
	"github.com/dogear-dev/dogear/config"
	"github.com/dogear-dev/dogear/controller/sets"
)

// service is what `dogear run` runs, with both roles in one process, and with
// what the operator of the SDK does without left out: the Lease, and the
// servers of metrics and health.
func service(s settings) (program, error) {
	o := config.Default()
	o.Namespace, o.Workers, o.LeaderElect = s.namespace, s.workers, false
	o.MetricsAddress, o.HealthAddress = "", ""
	o.Webhook.Address, o.Webhook.URL, o.Webhook.LameDuck = s.address, "https://"+s.address, -1
	running, err := sets.New(sets.Options{Settings: o, Config: s.config, Log: s.log})
	if err != nil {
		return program{}, err
	}
	return program{start: running.Start, look: func() Answer {
		return Answer{
			Runs:    int64(gathered("dogear_handler_runs_total", "handler", ServiceHandler)),
			Objects: int64(gathered("dogear_objects", "handler", ServiceHandler)),
			Calls:   int64(gathered("dogear_admission_requests_total", "", "")),
		}
	}}, nil
}
