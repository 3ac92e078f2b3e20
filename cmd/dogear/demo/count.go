package demo

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/test/rig"
)

// countRuns reads the controller's own metrics.
func (d *demo) countRuns(ctx context.Context) (map[string]map[string]int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.metrics+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request) //nolint:gosec // the own operator, on the loopback interface
	if err != nil {
		return nil, fmt.Errorf("read the controller's metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return nil, fmt.Errorf("parse the controller's metrics: %w", err)
	}
	runs := map[string]map[string]int{}
	for _, metric := range families["dogear_handler_runs_total"].GetMetric() {
		labels := map[string]string{}
		for _, label := range metric.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		id := labels["handler"]
		if runs[id] == nil {
			runs[id] = map[string]int{}
		}
		runs[id][labels["outcome"]] += int(metric.GetCounter().GetValue())
	}
	return runs, nil
}

// countWrites asks the API server: in the demo nobody but the operator patches.
func (d *demo) countWrites(ctx context.Context) ([]WriteReport, error) {
	now, err := d.cp.SettledRequests(ctx, rig.Match{Verb: "PATCH"})
	if err != nil {
		return nil, fmt.Errorf("count the writes: %w", err)
	}
	since := now.Sub(d.before)
	objects, _ := d.board.look()
	var writes []WriteReport
	for _, kind := range kinds {
		resource := strings.ToLower(kind.Kind) + "s"
		w := WriteReport{Resource: resource}
		for _, o := range objects {
			if o.Kind == kind.Kind {
				w.Objects++
			}
		}
		w.Main = since.Count(rig.Match{Verb: "PATCH", Resource: resource, Subresource: rig.None, DryRun: rig.None})
		w.Status = since.Count(rig.Match{Verb: "PATCH", Resource: resource, Subresource: "status", DryRun: rig.None})
		writes = append(writes, w)
	}
	return writes, nil
}

// countEvents waits until no more events come: they are posted behind the work.
func (d *demo) countEvents(ctx context.Context) (map[string]int, error) {
	last := -1
	for {
		list := &eventsv1.EventList{}
		if err := d.alice.List(ctx, list, client.InNamespace(objectsNamespace)); err != nil {
			return nil, fmt.Errorf("read the events: %w", err)
		}
		if len(list.Items) == last {
			counts := map[string]int{}
			for i := range list.Items {
				counts[list.Items[i].Reason]++
			}
			return counts, nil
		}
		last = len(list.Items)
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
