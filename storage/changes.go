package storage

import "errors"

// Change is what has to be written to turn one marker into another.
type Change struct {
	Key  string // full annotation key
	Old  string // the text that is there now; meaningless unless Was
	Was  bool   // whether there is one
	New  string // the text to write; empty: remove it
	Same bool   // no change: the key only guards the write
}

// Changes returns what has to be written so that annotations, from which the
// marker old was read, carry the marker new instead. A document that says the
// same in other words is left as it is. The documents that decisions rest on
// (handled, progress) are part of a non-empty answer also where they stay,
// marked Same, as a guard. A document of a newer release is left alone.
func (p Prefix) Changes(annotations map[string]string, old, new Marker) []Change {
	var (
		changes []Change
		any     bool
	)
	for _, name := range markerKeys {
		if name == KeyPaused {
			continue // the user's alone
		}
		key := p.Key(name)
		text, was := annotations[key]
		c := Change{Key: key, Old: text, Was: was}
		before, after := old.text(name), new.text(name)
		c.Same = before == after && was == (after != "") || was && isNewer(name, text)
		if !c.Same {
			c.New, any = after, true
		} else if name != KeyHandled && name != KeyProgress {
			continue
		}
		changes = append(changes, c)
	}
	if !any {
		return nil
	}
	return changes
}

// isNewer tells whether a newer release wrote this text of an annotation.
func isNewer(name, text string) bool {
	if name != KeyHandled && name != KeyProgress {
		return false
	}
	_, err := openDocument(text)
	return errors.Is(err, ErrNewer)
}
