package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/storage"
	"github.com/dogear-dev/dogear/test/rig"
)

// Report is the document of Options.JSON.
type Report struct {
	OK      bool           `json:"ok"`
	Error   string         `json:"error,omitempty"`
	Seconds float64        `json:"seconds"`
	Objects []ObjectReport `json:"objects"`
	// Runs counts the attempts of each handler by outcome.
	Runs map[string]map[string]int `json:"runs"`
	// Writes counts what the operator wrote, as the API server counts it.
	Writes []WriteReport `json:"writes"`
	// Events counts the events about the objects by reason.
	Events map[string]int `json:"events"`
	// Dir has logs and kubeconfigs; it is gone unless it was named or
	// something went wrong.
	Dir string `json:"dir"`
}

// ObjectReport is how an object ended.
type ObjectReport struct {
	Object   string          `json:"object"`
	State    storage.State   `json:"state"` // or "Gone"
	Handlers []HandlerReport `json:"handlers"`
	// Defaults are the fields that admission filled in.
	Defaults map[string]string `json:"defaults,omitempty"`
}

// HandlerReport is how a handler ended on an object.
type HandlerReport struct {
	ID       string          `json:"id"`
	State    storage.State   `json:"state"`
	Attempts int             `json:"attempts"`
	Reason   string          `json:"reason,omitempty"`
	Message  string          `json:"message,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
}

// WriteReport counts the requests that changed objects of a resource.
type WriteReport struct {
	Resource string `json:"resource"`
	Objects  int    `json:"objects"`
	Main     int    `json:"main"`
	Status   int    `json:"status"`
}

// settleTime is how long counts may take to settle.
const settleTime = 10 * time.Second

// report tells how everything ended.
func (d *demo) report(ctx context.Context, played error) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	r := Report{OK: played == nil, Seconds: time.Since(d.begin).Seconds(), Dir: d.dir, Objects: []ObjectReport{}}
	if played != nil {
		r.Error = played.Error()
	}
	var errs []error
	if d.before != nil {
		d.reportObjects(&r)
		var err error
		r.Runs, err = d.countRuns(ctx)
		errs = append(errs, err)
		r.Writes, err = d.countWrites(ctx)
		errs = append(errs, err)
		r.Events, err = d.countEvents(ctx)
		errs = append(errs, err)
	}
	d.view.end()
	if d.options.JSON {
		text, err := json.MarshalIndent(r, "", "  ")
		errs = append(errs, err)
		_, err = fmt.Fprintf(d.options.Stdout, "%s\n", text)
		return errors.Join(append(errs, err)...)
	}
	if d.before != nil {
		for _, text := range d.summary(&r) {
			fmt.Fprintln(d.options.Stdout, text)
		}
	}
	return errors.Join(errs...)
}

func (d *demo) reportObjects(r *Report) {
	objects, _ := d.board.look()
	for _, o := range objects {
		report := ObjectReport{Object: o.title(), State: o.State, Handlers: []HandlerReport{}}
		if o.title() == "Certificate/shop" && d.defaulted != "" {
			report.Defaults = map[string]string{"spec.secretName": d.defaulted}
		}
		for _, s := range o.Handlers {
			h := HandlerReport{ID: s.Handler, State: s.State, Attempts: s.Attempts, Reason: s.Reason, Message: s.Message}
			if json.Valid(s.Payload) {
				h.Payload = s.Payload
			}
			report.Handlers = append(report.Handlers, h)
		}
		r.Objects = append(r.Objects, report)
	}
}

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
		if err := d.alice.List(ctx, list, client.InNamespace(d.options.objects())); err != nil {
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

// summary is the report for people.
func (d *demo) summary(r *Report) []string {
	st := style{d.options.Color}
	verdict := st.paint(red, st.icon("✗")+"Not all objects ended as expected")
	if r.OK {
		verdict = st.paint(green, fmt.Sprintf("%sAll %d objects ended as expected", st.icon("✓"), len(d.options.Expected)))
	}
	lines := []string{"", fmt.Sprintf("%s, after %.1f s.", verdict, r.Seconds)}
	add := func(name, text string) { lines = append(lines, fmt.Sprintf("  %-14s%s", name, text)) }
	add("handler runs", runsText(r.Runs))
	add("API writes", writesText(r.Writes))
	add("events", eventsText(r.Events))
	if d.options.Keep {
		lines = append(lines, "", "All goes on running until Ctrl-C. In another terminal:")
		for _, command := range d.commands() {
			lines = append(lines, "  "+command)
		}
		return append(lines, "Changes show here:")
	}
	if d.options.Dir != "" {
		add("logs", d.dir)
	}
	return append(lines, "", "To look around with kubectl: dogear demo --keep")
}

func runsText(runs map[string]map[string]int) string {
	sum, words := 0, []string{}
	for _, id := range sorted(runs) {
		n := 0
		for _, count := range runs[id] {
			n += count
		}
		sum += n
		words = append(words, fmt.Sprintf("%s %d", clean(id), n))
	}
	return fmt.Sprintf("%d (%s)", sum, strings.Join(words, ", "))
}

func writesText(writes []WriteReport) string {
	var words []string
	for _, w := range writes {
		n := w.Main + w.Status
		words = append(words, fmt.Sprintf("%d to %d %s (%.1f each)", n, w.Objects, w.Resource, float64(n)/float64(max(w.Objects, 1))))
	}
	return strings.Join(words, ", ")
}

func eventsText(events map[string]int) string {
	sum, words := 0, []string{}
	for _, reason := range sorted(events) {
		sum += events[reason]
		words = append(words, fmt.Sprintf("%s %d", clean(reason), events[reason]))
	}
	return fmt.Sprintf("%d (%s)", sum, strings.Join(words, ", "))
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// commands show the objects with kubectl.
func (d *demo) commands() []string {
	kubectl := "kubectl"
	if path, err := rig.Binary("kubectl"); err == nil {
		kubectl = path
		if dir, err := filepath.Abs("."); err == nil {
			if short, err := filepath.Rel(dir, path); err == nil && len(short) < len(path) {
				kubectl = short
			}
		}
	}
	return []string{
		"export KUBECONFIG=" + d.adminKubeconfig(),
		kubectl + " get certificates,services -A -o " + CustomColumns(d.board.prefix),
		fmt.Sprintf(`%s patch certificate rogue -n %s --type=merge -p '{"spec":{"dnsNames":["rogue.example.com"]}}'`, kubectl, d.options.objects()),
	}
}

// CustomColumns are columns of kubectl that show the state of the operator with
// this prefix, quoted for a shell. Dots within the annotation's name are escaped.
func CustomColumns(prefix storage.Prefix) string {
	key := strings.ReplaceAll(prefix.Key(storage.KeyState), ".", `\.`)
	return "custom-columns='KIND:.kind,NAME:.metadata.name,STATE:.metadata.annotations." + key + "'"
}
