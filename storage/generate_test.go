package storage

import (
	"encoding/json"
	"time"

	"pgregory.net/rapid"
)

// genMarker draws markers as a release after this one may have written them:
// with unknown fields at every level.
func genMarker() *rapid.Generator[Marker] {
	return rapid.Custom(func(t *rapid.T) Marker {
		m := Marker{
			State:  State(rapid.SampledFrom([]string{"", "Pending", "Succeeded", "Dreaming"}).Draw(t, "state")),
			Base:   rapid.SampledFrom([]string{"", "H4sIAAAAAAAE"}).Draw(t, "base"),
			Retry:  rapid.SampledFrom([]string{"", "*", "issue, notify"}).Draw(t, "retry"),
			Paused: rapid.Bool().Draw(t, "paused"),
		}
		if rapid.Bool().Draw(t, "hasHandled") {
			id, bound := genIdentity(t)
			m.Handled = &Handled{
				Identity: id, bound: bound, extra: genExtra(t), Essence: genText(t), Generation: rapid.Int64().Draw(t, "generation"),
				By: rapid.MapOfN(genID(), rapid.Custom(genEntry), 0, 4).Draw(t, "by"),
			}
		}
		if rapid.Bool().Draw(t, "hasProgress") {
			id, bound := genIdentity(t)
			m.Progress = &Progress{
				Identity: id, bound: bound, extra: genExtra(t),
				Handlers: rapid.MapOfN(genID(), rapid.Custom(genRecord), 1, 4).Draw(t, "handlers"),
			}
		}
		if rapid.Bool().Draw(t, "hasStatus") {
			m.Status = rapid.MapOfN(genID(), rapid.Custom(genPayload), 1, 3).Draw(t, "status")
		}
		return m
	})
}

func genIdentity(t *rapid.T) (Identity, extra) {
	if rapid.Bool().Draw(t, "bound") {
		return Identity{UID: rapid.StringMatching(`[0-9a-f-]{1,36}`).Draw(t, "uid")}, nil
	}
	return Identity{Namespace: genText(t), Name: genText(t), Kind: genText(t)}, genExtra(t)
}

func genEntry(t *rapid.T) Entry {
	return Entry{Digest: genText(t), Revision: rapid.Int64().Draw(t, "revision"), extra: genExtra(t)}
}

func genRecord(t *rapid.T) Record {
	return Record{
		Cause:    Cause(rapid.SampledFrom([]string{"Create", "Update", "Delete", "Resume", "Dream", ""}).Draw(t, "cause")),
		State:    State(rapid.SampledFrom([]string{"Pending", "Waiting", "Retrying", "Failed", "Dreaming", ""}).Draw(t, "state")),
		Essence:  genText(t),
		Attempts: rapid.IntRange(0, 1<<40).Draw(t, "attempts"),
		Claimed:  rapid.Bool().Draw(t, "claimed"),
		Started:  genTime(t),
		Next:     genTime(t),
		Reason:   genText(t),
		Message:  genText(t),
		By:       genText(t),
		Revision: rapid.Int64().Draw(t, "revision"),
		extra:    genExtra(t),
	}
}

// genTime draws what a record keeps: UTC, in milliseconds.
func genTime(t *rapid.T) time.Time {
	if rapid.Bool().Draw(t, "noTime") {
		return time.Time{}
	}
	return time.UnixMilli(rapid.Int64Range(-60_000_000_000_000, 250_000_000_000_000).Draw(t, "ms")).UTC()
}

func genText(t *rapid.T) string {
	return rapid.OneOf(rapid.Just(""), rapid.StringN(0, 12, -1), rapid.SampledFrom([]string{`"{[\`, "},", "\u2028\n\x00", "null"})).Draw(t, "text")
}

func genID() *rapid.Generator[string] {
	return rapid.OneOf(rapid.StringMatching(`[a-z][a-z0-9./-]{0,20}`), rapid.SampledFrom([]string{"v", "uid", "", `"`, "ü"}))
}

func genPayload(t *rapid.T) json.RawMessage {
	return rapid.SampledFrom([]json.RawMessage{
		json.RawMessage(`null`), json.RawMessage(`1.50`), json.RawMessage(`"}]\",{"`), json.RawMessage(`[ 1 , {"a" : [ ] } ]`),
		json.RawMessage("{\n\t\"uid\": {\"v\": 2, \"\\u00fc\": false}\n}"), json.RawMessage(`true`), json.RawMessage(`{}`),
	}).Draw(t, "payload")
}

// genExtra draws fields that this release doesn't know.
func genExtra(t *rapid.T) extra {
	if rapid.Bool().Draw(t, "noExtra") {
		return nil
	}
	name := rapid.SampledFrom([]string{"V", "future", "zz", "a\"b", "by2", ""})
	return rapid.MapOfN(name, rapid.Custom(genPayload), 1, 3).Draw(t, "extra")
}
