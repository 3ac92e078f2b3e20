package controller

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/dogear-dev/dogear/controller/handler"
	"github.com/dogear-dev/dogear/controller/selection"
	"github.com/dogear-dev/dogear/storage"
)

// statusItem is what one handler's outcome changes in .status.
type statusItem struct {
	handler *selection.Handler
	ops     []operation
	payload any // what .status must show afterwards; nil: nothing to check
}

// writeStatus writes the payloads of outcomes that .status is to keep, and
// returns the marker with those that go to the annotation. The marker is
// written after .status: a crash in between repeats a handler, but loses no
// payload.
func (p *pass) writeStatus(ctx context.Context, marker storage.Marker) (storage.Marker, error) {
	var items []statusItem
	for _, r := range p.latest() {
		h := p.handler(r.id)
		if h == nil {
			continue
		}
		item := statusItem{handler: h}
		switch {
		case r.payload == nil:
		case isEmpty(r.payload):
			marker = marker.WithStatus(r.id, nil)
			if _, ok := nested(p.seen.Object, h.StatusPath()); ok && p.keeps(ctx, h, r.payload) {
				item.ops = []operation{remove(pointer(append([]string{"status"}, h.StatusPath()...)...))}
			}
		case p.keeps(ctx, h, r.payload):
			marker = marker.WithStatus(r.id, nil)
			if have, ok := nested(p.seen.Object, h.StatusPath()); !ok || !sameJSON(have, r.payload) {
				item.ops, item.payload = statusOps(p.seen, h.StatusPath(), r.payload), r.payload
			}
		default:
			marker = p.toAnnotation(marker, h, r.payload)
		}
		if item.ops = append(item.ops, p.conditionOps(ctx, h, r)...); len(item.ops) > 0 {
			items = append(items, item)
		}
	}
	if len(items) == 0 {
		return marker, nil
	}
	lost, err := p.sendStatus(ctx, items)
	for _, item := range lost {
		marker = p.toAnnotation(marker, item.handler, item.payload)
	}
	return marker, err
}

// sendStatus sends all items in one request, and each on its own if the server
// refuses them together. It returns those whose payload .status did not keep.
func (p *pass) sendStatus(ctx context.Context, items []statusItem) (lost []statusItem, err error) {
	ops := []operation{testUID(p.mem.uid)}
	for _, item := range items {
		ops = append(ops, item.ops...)
	}
	reply, err := p.patchStatus(ctx, ops)
	if p.refusedForGood(err) {
		if len(items) == 1 {
			return onlyPayloads(items), nil
		}
		for i := range items {
			l, err := p.sendStatus(ctx, items[i:i+1])
			if lost = append(lost, l...); err != nil {
				return lost, err
			}
		}
		return lost, nil
	}
	if err != nil {
		return nil, err
	}
	if err := p.tookStatus(reply); err != nil {
		return nil, err
	}
	for _, item := range items {
		if have, ok := nested(reply.Object, item.handler.StatusPath()); item.payload != nil && !(ok && contains(have, item.payload)) {
			lost = append(lost, item)
		}
	}
	return lost, nil
}

func onlyPayloads(items []statusItem) []statusItem {
	if items[0].payload == nil {
		return nil // a condition that the server won't have
	}
	return items
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
	published, err := p.schemas.of(ctx, p.set.Kind)
	if err != nil {
		p.log.V(1).Info("The schema cannot be read: payloads go to the annotation", "error", err.Error())
		return false
	}
	return published.keeps(h.StatusPath(), payload)
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
	}
	if _, there := p.found.Status[h.Spec.ID]; !there && h.Spec.Status.Target == handler.Auto {
		statusFallbacks.Inc()
		p.reportOnce(p.seen, "fallback/"+h.Spec.ID, normal, ReasonStatusFallback,
			"The schema of %s does not keep the payload of handler %q in .status: it is in the annotation %s",
			p.set.Kind.Kind, h.Spec.ID, p.prefix.Key(storage.KeyStatus))
	}
	return marker.WithStatus(h.Spec.ID, text)
}

// statusOps put a value at a path below status, whole.
func statusOps(u *unstructured.Unstructured, path []string, value any) []operation {
	var ops []operation
	full := append([]string{"status"}, path...)
	at := u.Object
	for i, name := range full[:len(full)-1] {
		child, ok := at[name].(map[string]any)
		if !ok {
			// What is missing is built whole, if it is still missing.
			for j := len(full) - 1; j > i; j-- {
				value = map[string]any{full[j]: value}
			}
			return append(ops, test(pointer(full[:i+1]...), null{}), add(pointer(full[:i+1]...), value))
		}
		at = child
	}
	return append(ops, add(pointer(full...), value))
}

// conditionOps keep the condition of a handler's name, where the schema has a
// list for it. An unchanged condition is no reason to write.
func (p *pass) conditionOps(ctx context.Context, h *selection.Handler, r run) []operation {
	name := h.Spec.Status.Condition
	if name == "" {
		return nil
	}
	published, err := p.schemas.of(ctx, p.set.Kind)
	if err != nil || !published.hasConditions() {
		return nil
	}
	record, _ := p.in.Marker.Record(r.id)
	condition := p.condition(name, r, record)
	list, _ := nested(p.seen.Object, []string{"conditions"})
	items, _ := list.([]any)
	for i, item := range items {
		have, _ := item.(map[string]any)
		if have["type"] != name {
			continue
		}
		if have["status"] == condition["status"] && have["reason"] == condition["reason"] && have["message"] == condition["message"] {
			return nil
		}
		if have["status"] == condition["status"] && have["lastTransitionTime"] != nil {
			condition["lastTransitionTime"] = have["lastTransitionTime"]
		}
		path := "/status/conditions/" + strconv.Itoa(i)
		return []operation{test(path+"/type", name), replace(path, condition)}
	}
	if len(items) > 0 {
		return []operation{add("/status/conditions/-", condition)}
	}
	return statusOps(p.seen, []string{"conditions"}, []any{condition})
}

func (p *pass) condition(name string, r run, record storage.Record) map[string]any {
	status, reason, message := "Unknown", string(r.outcome.State), record.Message
	switch {
	case r.outcome.State == storage.Succeeded:
		status, message = "True", ""
	case record.State == storage.Failed:
		status, reason = "False", string(storage.Failed)
	}
	if record.Reason != "" && status != "True" {
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
