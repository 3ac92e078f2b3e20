package plan

import (
	"maps"

	"github.com/dogear-dev/dogear/storage"
)

// adopt marks at once what counts as finished without a run, also while other
// handlers are open: a change that comes before they finish must not be missed.
func (in *Input) adopt(m storage.Marker, standings []standing) storage.Marker {
	for i, s := range standings {
		if !s.adopt {
			continue
		}
		h := &in.Handlers[i]
		if entry, ok := m.Entry(h.ID); !ok || entry.Digest != in.digest(h) {
			m = in.enter(m, h.ID, in.digest(h), h.Revision).WithoutRecord(h.ID)
		}
	}
	return m
}

// enter returns the marker with an entry of one handler. What the marker says
// of other handlers stays.
func (in *Input) enter(m storage.Marker, id, digest string, revision int64) storage.Marker {
	h := in.bound(m.Handled)
	entry := h.By[id]
	entry.Digest, entry.Revision = digest, revision
	if digest == h.Essence {
		entry.Digest = ""
	}
	h.By[id] = entry
	m.Handled = &h
	return m
}

// bound returns a copy of what is handled that is bound to the object. Of the
// stamp of a birth, only that stays which a stamp can say.
func (in *Input) bound(old *storage.Handled) storage.Handled {
	if old == nil {
		return storage.Handled{Identity: in.Object.Identity, By: map[string]storage.Entry{}}
	}
	h := *old
	if h.By = maps.Clone(h.By); h.By == nil {
		h.By = map[string]storage.Entry{}
	}
	if h.UID != "" || in.Object.UID == "" {
		return h
	}
	h.Identity = in.Object.Identity
	if h.Essence == in.Object.Birth && h.Essence != "" {
		h.Essence = in.Object.Essence // the same, of which birth knew a part
	}
	for i := range in.Handlers {
		if in.Handlers[i].runsAtBirth() {
			delete(h.By, in.Handlers[i].ID)
		}
	}
	return h
}

// handle returns the marker with the current essence as handled. A handler's
// entry says what it finished itself: one that is not declared for changes
// keeps an older digest, so that it is due once it is declared for them.
func (in *Input) handle(m storage.Marker, standings []standing) storage.Marker {
	h := in.bound(m.Handled)
	for id, entry := range h.By {
		if entry.Digest == "" {
			entry.Digest = h.Essence // may be an older one from now on
			h.By[id] = entry
		}
	}
	for i, s := range standings {
		handler := &in.Handlers[i]
		if s.state != storage.Succeeded || handler.On&(OnCreate|OnUpdate) == 0 {
			continue
		}
		entry, entered := h.By[handler.ID]
		r, recorded := in.Marker.Record(handler.ID)
		switch {
		case recorded && tells(r, entered):
			entry.Digest, entry.Revision = r.Essence, r.Revision
			if r.State != storage.Succeeded {
				entry.Digest = undone
			}
		case s.adopt:
			entry.Digest, entry.Revision = in.digest(handler), handler.Revision
		case !entered:
			continue
		}
		h.By[handler.ID] = entry
	}
	h.Identity, h.Essence, h.Generation = in.Object.Identity, in.Object.Essence, in.Object.Generation
	for id, entry := range h.By {
		if entry.Digest == h.Essence {
			entry.Digest = ""
			h.By[id] = entry
		}
	}
	m.Handled = &h
	return m
}
