package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/dogear-dev/dogear/storage"
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
	r := Report{OK: played == nil, Seconds: math.Round(10*time.Since(d.begin).Seconds()) / 10, Dir: d.dir, Objects: []ObjectReport{}}
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
			_, _ = fmt.Fprintln(d.options.Stdout, text)
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
