package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

// statusItem is one change of .status: of a handler's payload, or of its
// condition.
type statusItem struct {
	handler *selection.Handler
	// edit makes the change. It says no where there is no place for it.
	edit func(*statusEdit) bool
	// payload is what .status must show afterwards; nil: nothing to check.
	payload any
}

// writeStatus writes the payloads of outcomes that .status is to keep, and
// returns the marker with those that go to the annotation. The marker is
// written after .status: a crash in between repeats a handler, but loses no
// payload.
func (p *pass) writeStatus(ctx context.Context, marker storage.Marker) (storage.Marker, error) {
	var items []statusItem
	var stale []*selection.Handler // whose last payload must not stay in .status
	for _, r := range p.latest() {
		h := p.handler(r.id)
		if h == nil {
			continue
		}
		switch {
		case r.payload == nil:
		case isEmpty(r.payload):
			marker = marker.WithStatus(r.id, nil)
			stale = append(stale, h)
		case p.keeps(ctx, h, r.payload):
			marker = marker.WithStatus(r.id, nil)
			items = append(items, statusItem{h, func(e *statusEdit) bool { return e.set(h.StatusPath(), r.payload) }, r.payload})
		default:
			marker = p.toAnnotation(marker, h, r.payload)
			stale = append(stale, h)
		}
		items = p.addCondition(ctx, items, h, r)
	}
	items, err := p.addRemovals(ctx, items, stale)
	if err != nil {
		return marker, err
	}
	lost, err := p.sendStatus(ctx, items)
	stale = nil
	for _, item := range lost {
		marker = p.toAnnotation(marker, item.handler, item.payload)
		stale = append(stale, item.handler)
	}
	if err != nil || len(stale) == 0 {
		return marker, err
	}
	if items, err = p.addRemovals(ctx, nil, stale); err == nil {
		_, err = p.sendStatus(ctx, items)
	}
	return marker, err
}

// addRemovals adds the removal of payloads that were written to .status
// earlier. What somebody else has written there, as the owner of a field that
// happens to bear the handler's name, is not touched.
func (p *pass) addRemovals(ctx context.Context, items []statusItem, stale []*selection.Handler) ([]statusItem, error) {
	var managed map[string]any
	for _, h := range stale {
		path := h.StatusPath()
		if _, ok := nested(p.seen.Object, path); !ok || h.Spec.Status.Target == handler.Annotation {
			continue
		}
		if managed == nil {
			var err error
			if managed, err = p.managed(ctx, p.key.NamespacedName); err != nil {
				return nil, err
			}
		}
		if owned(managed, append([]string{"status"}, path...)) {
			items = append(items, statusItem{h, func(e *statusEdit) bool { e.remove(path); return true }, nil})
		}
	}
	return items, nil
}

// sendStatus sends all items in one request, and each on its own if the server
// refuses them together. It returns those whose payload .status did not keep.
func (p *pass) sendStatus(ctx context.Context, items []statusItem) (lost []statusItem, err error) {
	edit := editStatus(p.seen)
	var sent []statusItem
	for _, item := range items {
		if item.edit(edit) {
			sent = append(sent, item)
		} else {
			lost = append(lost, item)
		}
	}
	if len(edit.ops) == 0 {
		return lost, nil
	}
	reply, err := p.patchStatus(ctx, append([]operation{testUID(p.mem.uid)}, edit.ops...))
	switch {
	case p.refusedForGood(err) && len(sent) > 1:
		for i := range sent {
			l, err := p.sendStatus(ctx, sent[i:i+1])
			if lost = append(lost, l...); err != nil {
				return lost, err
			}
		}
		return lost, nil
	case p.refusedForGood(err):
		if sent[0].payload != nil {
			return append(lost, sent...), nil
		}
		p.log.Info("The server refuses a change of status", "handler", sent[0].handler.Spec.ID, "error", safeText(err))
		return lost, nil
	case err != nil:
		return lost, err
	}
	if err := p.tookStatus(reply); err != nil {
		return lost, err
	}
	for _, item := range sent {
		if have, ok := nested(reply.Object, item.handler.StatusPath()); item.payload != nil && !(ok && contains(have, item.payload)) {
			lost = append(lost, item)
		}
	}
	return lost, nil
}

func isEmpty(payload any) bool {
	m, ok := payload.(map[string]any)
	return ok && len(m) == 0
}

// latest is the newest run of each handler that is not written yet.
func (p *pass) latest() []run {
	var out []run
	for i, r := range p.mem.unwritten {
		last := true
		for _, later := range p.mem.unwritten[i+1:] {
			last = last && later.id != r.id
		}
		if last {
			out = append(out, r)
		}
	}
	return out
}

func (p *pass) keeps(ctx context.Context, h *selection.Handler, payload any) bool {
	if h.Spec.Status.Target == handler.Annotation {
		return false
	}
	published, err := p.schemas.Of(ctx, p.gvk)
	if err != nil {
		p.log.V(1).Info("The schema cannot be read: the server's reply must tell what it keeps", "error", err.Error())
		return true
	}
	return keepsStatus(published, h.StatusPath(), payload)
}

// refusedForGood tells from the error of a status write that another try must
// end the same way: a field of the wrong type, or a value that is not allowed.
// A guard that failed names no field.
func (p *pass) refusedForGood(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !(apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)) {
		return false
	}
	details := status.Status().Details
	return details != nil && len(details.Causes) > 0
}

// toAnnotation files a payload in the status annotation, and says so the first
// time.
func (p *pass) toAnnotation(marker storage.Marker, h *selection.Handler, payload any) storage.Marker {
	text := json.RawMessage(storage.AppendCanonical(nil, payload))
	if limit := p.budget.Payload; len(text) > limit {
		p.reportOnce(p.seen, "large/"+h.Spec.ID, warning, ReasonTooLarge,
			"The payload of handler %q has %d bytes: at most %d fit in the annotation", h.Spec.ID, len(text), limit)
		text = storage.TooLarge(len(text))
	} else if _, there := p.found.Status[h.Spec.ID]; !there && h.Spec.Status.Target == handler.Auto {
		statusFallbacks.Inc()
		p.reportOnce(p.seen, "fallback/"+h.Spec.ID, normal, ReasonStatusFallback,
			"The schema of %s does not keep the payload of handler %q in .status: it is in the annotation %s",
			p.gvk.Kind, h.Spec.ID, p.prefix.Key(storage.KeyStatus))
	}
	return marker.WithStatus(h.Spec.ID, text)
}

// addCondition adds the change of the condition that the handler keeps, where
// the schema has a list for it.
func (p *pass) addCondition(ctx context.Context, items []statusItem, h *selection.Handler, r run) []statusItem {
	if h.Spec.Status.Condition == "" {
		return items
	}
	published, err := p.schemas.Of(ctx, p.gvk)
	if err != nil || !hasConditions(published) {
		return items
	}
	record, _ := p.in.Marker.Record(r.id)
	return append(items, statusItem{handler: h, edit: func(e *statusEdit) bool {
		e.setCondition(p.condition(h.Spec.Status.Condition, r, record))
		return true
	}})
}

// validReason is what the API conventions allow as the reason of a condition.
var validReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

func (p *pass) condition(name string, r run, record storage.Record) map[string]any {
	status, reason, message := "Unknown", string(r.outcome.State), record.Message
	switch {
	case r.outcome.State == storage.Succeeded:
		status, message = "True", ""
	case record.State == storage.Failed:
		status, reason = "False", string(storage.Failed)
	}
	if validReason.MatchString(record.Reason) && status != "True" {
		reason = record.Reason
	}
	return map[string]any{
		"type": name, "status": status, "reason": reason, "message": message,
		"lastTransitionTime": p.clock.Now().UTC().Format(time.RFC3339),
	}
}

// payloads are the last payloads of all handlers of the kind on the object.
func (p *pass) payloads() map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, h := range p.set.Handlers {
		if text, ok := p.in.Marker.Status[h.Spec.ID]; ok {
			out[h.Spec.ID] = text
		} else if h.Spec.Status.Target == handler.Annotation {
			continue
		} else if value, ok := nested(p.seen.Object, h.StatusPath()); ok {
			out[h.Spec.ID] = storage.AppendCanonical(nil, value)
		}
	}
	for _, r := range p.mem.unwritten {
		if r.payload != nil {
			out[r.id] = storage.AppendCanonical(nil, r.payload)
		}
	}
	return out
}

func nested(object map[string]any, path []string) (any, bool) {
	var v any = object["status"]
	for _, name := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, v != nil
}

func sameJSON(a, b any) bool {
	return bytes.Equal(storage.AppendCanonical(nil, a), storage.AppendCanonical(nil, b))
}

// contains tells whether have shows all of want; a server may add defaults.
func contains(have, want any) bool {
	w, ok := want.(map[string]any)
	if !ok {
		return sameJSON(have, want)
	}
	h, ok := have.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range w {
		if value == nil {
			continue
		}
		there, ok := h[key]
		if !ok || !contains(there, value) {
			return false
		}
	}
	return true
}
