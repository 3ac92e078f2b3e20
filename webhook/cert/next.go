package cert

import (
	"crypto/x509"
	"slices"
	"time"
)

// Next returns the bundle that should follow b at the time now, and whether it
// differs. It is level-triggered: call it as often as you like, with what is
// stored; a nil or broken bundle is replaced. b itself stays as it is.
//
// A leaf is issued when two thirds of its time are over, when names differ from
// what it was issued for, or when it does not belong to its key or authority.
// An authority is rotated in steps, see the package; only where nothing that is
// trusted can sign any more does a new one sign at once.
//
// Errors wrap [ErrNames] or [ErrPolicy], or come from the random source.
func Next(b *Bundle, names []string, now time.Time, policy Policy) (next *Bundle, changed bool, err error) {
	policy = policy.WithDefaults()
	if err := policy.Validate(); err != nil {
		return nil, false, err
	}
	set, err := parseNames(names)
	if err != nil {
		return nil, false, err
	}
	t := &turn{Bundle: b.clone(), names: set, now: now, policy: policy}
	steps := []func() error{t.dropExpired, t.replaceDeadAuthority, t.switchAuthority, t.announceAuthority, t.renewLeaf}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, false, err
		}
	}
	return t.Bundle, t.changed, nil
}

// turn is one run of Next.
type turn struct {
	*Bundle
	names   nameSet
	now     time.Time
	policy  Policy
	changed bool
}

// dropExpired ends the trust in former authorities whose time is over, and
// forgets an announced one that can never sign.
func (t *turn) dropExpired() error {
	before := len(t.Previous)
	t.Previous = slices.DeleteFunc(t.Previous, func(c *x509.Certificate) bool { return t.now.After(c.NotAfter) })
	t.Previous = t.Previous[:min(len(t.Previous), maxPrevious)]
	t.changed = t.changed || len(t.Previous) != before
	if t.Next != nil && (!usable(t.Next.Certificate, t.now) || !t.Next.matches(t.Next.Key)) {
		t.Next, t.changed = nil, true
	}
	return nil
}

// replaceDeadAuthority is the start, and the way out after a long stop.
func (t *turn) replaceDeadAuthority() error {
	if usable(t.CA.Certificate, t.now) {
		return nil
	}
	if t.Next == nil {
		if err := t.announce(); err != nil {
			return err
		}
	}
	t.promote()
	return nil
}

// switchAuthority ends a rotation once everybody has seen the new authority.
func (t *turn) switchAuthority() error {
	if t.Next != nil && !t.now.Before(t.Next.Certificate.NotBefore.Add(backdate+t.policy.Overlap)) {
		t.promote()
	}
	return nil
}

// announceAuthority begins a rotation, also where the key to sign is lost.
func (t *turn) announceAuthority() error {
	if t.Next != nil || (t.CA.matches(t.CA.Key) && !due(t.CA.Certificate, t.now)) {
		return nil
	}
	return t.announce()
}

// renewLeaf issues a leaf where the present one can't go on serving.
func (t *turn) renewLeaf() (err error) {
	if t.leafServes() {
		return nil
	}
	if !t.CA.matches(t.CA.Key) {
		t.promote() // announceAuthority has seen to it that there is one
	}
	t.changed = true
	t.Leaf, err = newLeaf(t.CA, t.names, t.now, t.policy.LeafValidity)
	return err
}

func (t *turn) leafServes() bool {
	leaf := t.Leaf.Certificate
	return t.Leaf.matches(t.Leaf.Key) &&
		leaf.CheckSignatureFrom(t.CA.Certificate) == nil &&
		slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) &&
		namesOf(leaf).equal(t.names) &&
		!t.now.Before(leaf.NotBefore) && !due(leaf, t.now)
}

func (t *turn) announce() error {
	pair, err := newAuthority(t.now, t.policy.CAValidity)
	t.Next, t.changed = &pair, true
	return err
}

func (t *turn) promote() {
	t.Bundle.promote(t.now)
	t.changed = true
}

// usable tells whether an API server accepts leafs of the authority now.
func usable(ca *x509.Certificate, now time.Time) bool {
	return ca != nil && ca.IsCA && !now.Before(ca.NotBefore) && now.Before(ca.NotAfter)
}

// due tells whether two thirds of the certificate's time are over.
func due(c *x509.Certificate, now time.Time) bool {
	begin := c.NotBefore.Add(backdate)
	return !now.Before(begin.Add(c.NotAfter.Sub(begin) * 2 / 3))
}
