package rig

import (
	"bytes"
	"context"
	"fmt"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// A Sample is one value of a metric.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Metric returns the sum of all samples of the API server's metric name whose
// labels have the given values; labels not given may have any. The parts of
// a histogram go by name_count, name_sum and name_bucket. A metric or label
// value that was never counted is 0, as is a name that does not exist.
func (cp *ControlPlane) Metric(ctx context.Context, name string, labels map[string]string) (float64, error) {
	samples, err := cp.Samples(ctx, name)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, sample := range samples {
		if has(sample.Labels, labels) {
			sum += sample.Value
		}
	}
	return sum, nil
}

// Samples returns all samples of the API server's metric name.
func (cp *ControlPlane) Samples(ctx context.Context, name string) ([]Sample, error) {
	text, err := cp.get(ctx, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(pick(text, name)))
	if err != nil {
		return nil, fmt.Errorf("parse the API server's metric %q: %w", name, err)
	}
	var samples []Sample
	for _, metric := range families[name].GetMetric() {
		sample := Sample{Labels: map[string]string{}, Value: metric.GetUntyped().GetValue()}
		for _, label := range metric.GetLabel() {
			sample.Labels[label.GetName()] = label.GetValue()
		}
		samples = append(samples, sample)
	}
	return samples, nil
}

// pick returns the lines of one metric, without its type: the whole text has
// some 10,000 lines, and a part of a histogram is read as a plain number.
func pick(text []byte, name string) []byte {
	var picked []byte
	for line := range bytes.Lines(text) {
		rest, found := bytes.CutPrefix(line, []byte(name))
		if found && len(rest) > 0 && (rest[0] == '{' || rest[0] == ' ') {
			picked = append(picked, line...)
		}
	}
	return picked
}

func has(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// get reads a path of the API server as administrator.
func (cp *ControlPlane) get(ctx context.Context, path string) ([]byte, error) {
	config := cp.AdminConfig()
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	raw, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return raw.Get().AbsPath(path).DoRaw(ctx)
}
