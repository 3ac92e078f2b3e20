package cert

import (
	"errors"
	"fmt"
	"time"
)

const (
	// backdate is how far in the past a certificate begins, so that an API
	// server whose clock is behind accepts it.
	backdate = time.Hour

	day = 24 * time.Hour
)

// ErrPolicy is wrapped by every error about a [Policy] that cannot work.
var ErrPolicy = errors.New("certificate policy")

// Policy says how long certificates live. The zero value is the default.
//
// Authority and leaf alike are renewed when two thirds of their time are over,
// which leaves the last third for repairs.
type Policy struct {
	// CAValidity is how long an authority is valid. Default: 365 days.
	CAValidity time.Duration
	// LeafValidity is how long a serving certificate is valid. Default: 7 days.
	LeafValidity time.Duration
	// Overlap is how long a new authority is published before the first leaf is
	// signed by it. It has to outlast any trouble with publishing the webhook
	// configuration. Default: 24 hours.
	Overlap time.Duration
}

// WithDefaults returns the policy with the default for each zero field.
func (p Policy) WithDefaults() Policy {
	if p.CAValidity == 0 {
		p.CAValidity = 365 * day
	}
	if p.LeafValidity == 0 {
		p.LeafValidity = 7 * day
	}
	if p.Overlap == 0 {
		p.Overlap = day
	}
	return p
}

// Validate names the first field out of bounds. An authority signs until two
// thirds of its time and the overlap are over; a leaf of that moment must still
// end before the authority does.
func (p Policy) Validate() error {
	switch {
	case p.LeafValidity < time.Minute:
		return fmt.Errorf("%w: LeafValidity is %s, at least 1m is needed", ErrPolicy, p.LeafValidity)
	case p.Overlap < 0:
		return fmt.Errorf("%w: Overlap is %s, it must not be negative", ErrPolicy, p.Overlap)
	case p.LeafValidity+p.Overlap > p.CAValidity/3:
		return fmt.Errorf("%w: LeafValidity %s and Overlap %s together must not exceed a third of CAValidity %s",
			ErrPolicy, p.LeafValidity, p.Overlap, p.CAValidity)
	}
	return nil
}
