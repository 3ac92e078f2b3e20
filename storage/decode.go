package storage

import (
	"encoding/json"
	"errors"
	"fmt"
)

func decodeHandled(text string) (*Handled, error) {
	doc, err := openDocument(text)
	if err != nil {
		return nil, err
	}
	var d decoder
	h := Handled{By: map[string]Entry{}}
	for doc.next() {
		switch doc.name {
		case "essence":
			h.Essence = d.text(doc)
		case "generation":
			h.Generation = d.number(doc)
		case "by":
			h.By = map[string]Entry{}
			for by := d.object(doc, "by"); by.next(); {
				h.By[by.name] = d.entry(by)
			}
		default:
			d.common(doc, &h.Identity, &h.bound, &h.extra)
		}
	}
	if d.err != nil {
		return nil, d.err
	}
	return &h, nil
}

func (d *decoder) entry(of members) (e Entry) {
	for m := d.object(of, "an entry of by"); m.next(); {
		switch m.name {
		case "digest":
			e.Digest = d.text(m)
		case "revision":
			e.Revision = d.number(m)
		default:
			e.extra.keep(m)
		}
	}
	return e
}

func decodeProgress(text string) (*Progress, error) {
	doc, err := openDocument(text)
	if err != nil {
		return nil, err
	}
	var d decoder
	p := Progress{Handlers: map[string]Record{}}
	for doc.next() {
		if doc.name != "handlers" {
			d.common(doc, &p.Identity, &p.bound, &p.extra)
			continue
		}
		p.Handlers = map[string]Record{}
		for handlers := d.object(doc, "handlers"); handlers.next(); {
			p.Handlers[handlers.name] = d.record(handlers)
		}
	}
	if d.err != nil || len(p.Handlers) == 0 {
		return nil, d.err
	}
	return &p, nil
}

func (d *decoder) record(of members) (r Record) {
	for m := d.object(of, "a record of handlers"); m.next(); {
		switch m.name {
		case "cause":
			r.Cause = Cause(d.text(m))
		case "state":
			r.State = State(d.text(m))
		case "essence":
			r.Essence = d.text(m)
		case "attempts":
			r.Attempts = int(d.number(m))
			if r.Attempts < 0 {
				d.fault("attempts is negative")
			}
		case "claimed":
			r.Claimed = d.truth(m)
		case "started":
			r.Started = d.time(m)
		case "next":
			r.Next = d.time(m)
		case "reason":
			r.Reason = d.text(m)
		case "message":
			r.Message = d.text(m)
		case "by":
			r.By = d.text(m)
		case "revision":
			r.Revision = d.number(m)
		case "completion":
			r.Completion = d.text(m)
		default:
			r.extra.keep(m)
		}
	}
	return r
}

func decodeStatus(text string) (status map[string]json.RawMessage, err error) {
	if err := validate(text); err != nil {
		return nil, err
	}
	m, ok := openObject(text)
	if !ok {
		return nil, errors.New("want a JSON object")
	}
	for m.next() {
		if status == nil {
			status = map[string]json.RawMessage{}
		}
		status[m.name] = json.RawMessage(m.value)
	}
	return status, nil
}

// openDocument stands before the first member of a versioned document. The
// version comes first: of a newer document nothing else may be judged.
func openDocument(text string) (members, error) {
	if err := validate(text); err != nil {
		return members{}, err
	}
	doc, ok := openObject(text)
	if !ok {
		return members{}, errors.New("want a JSON object")
	}
	var (
		d       decoder
		version int64
	)
	for m := doc; m.next(); {
		if m.name == "v" {
			version = d.number(m)
		}
	}
	switch {
	case d.err != nil:
		return members{}, d.err
	case version > Version:
		return members{}, fmt.Errorf("version %d: %w", version, ErrNewer)
	case version < 1:
		return members{}, errors.New("no version")
	}
	return doc, nil
}

// common reads what all documents have: the version, which is known already,
// the identity, and what a newer release may have added.
func (d *decoder) common(m members, identity *Identity, bound, unknown *extra) {
	switch m.name {
	case "v":
	case "uid":
		identity.UID = d.text(m)
	case "object":
		for o := d.object(m, "object"); o.next(); {
			switch o.name {
			case "namespace":
				identity.Namespace = d.text(o)
			case "name":
				identity.Name = d.text(o)
			case "kind":
				identity.Kind = d.text(o)
			default:
				bound.keep(o)
			}
		}
	default:
		unknown.keep(m)
	}
}

func (x *extra) keep(m members) {
	if *x == nil {
		*x = extra{}
	}
	(*x)[m.name] = json.RawMessage(m.value)
}
