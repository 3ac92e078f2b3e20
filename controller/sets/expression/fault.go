package expression

import (
	"errors"
	"strings"

	"github.com/google/cel-go/common/types"
)

// harmless are beginnings of CEL's errors that hold no data.
var harmless = []string{
	"no such overload", "no such attribute", "no matching overload", "division by zero", "modulus by zero",
	"integer overflow", "unsigned integer overflow", "duration overflow", "timestamp overflow",
	"index out of bounds", "optional.none() dereference",
}

// fault is an error of an evaluation, with the place where it came up. CEL's
// own texts quote values, which may be those of a Secret: all but a few go.
func (p *program) fault(err error) error {
	text := err.Error()
	message := "a value is not what a function of it takes"
	switch key, missing := strings.CutPrefix(text, "no such key: "); {
	case strings.Contains(text, "cost limit exceeded"):
		return errors.New("it takes too long on this object: use shorter loops")
	case missing && strings.Contains(p.text, key): // else it is data that was used as a key
		message = text
	case missing:
		message = "no such key"
	default:
		for _, start := range harmless {
			if strings.HasPrefix(text, start) {
				message = start
			}
		}
	}
	var inner *types.Err
	if errors.As(err, &inner) {
		return p.at(inner.NodeID(), "%s", message)
	}
	return errors.New(message)
}
