package expression

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// maxValue bounds a value, about in bytes of its JSON. Without it, a short
// expression that uses a list twice, and the result twice, and so on, fills
// the memory at no cost in CEL's units.
const maxValue = 64 << 10

var errTooLarge = fmt.Errorf("its value is larger than %d KiB", maxValue>>10)

// plain makes JSON of a value, as unstructured objects have it.
func plain(v ref.Val) (any, error) {
	c := conversion{left: maxValue}
	return c.value(v)
}

type conversion struct{ left int }

func (c *conversion) value(v ref.Val) (any, error) {
	if c.left--; c.left < 0 {
		return nil, errTooLarge
	}
	switch v := v.(type) {
	case types.Null:
		return nil, nil
	case types.Bool:
		return bool(v), nil
	case types.Int:
		return int64(v), nil
	case types.Uint:
		if v > math.MaxInt64 {
			return nil, errors.New("it yields a number above 2^63-1")
		}
		return int64(v), nil
	case types.Double:
		if f := float64(v); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, nil
		}
		return nil, errors.New("it yields NaN or infinity, which is no JSON value")
	case types.String:
		return c.text(string(v))
	case types.Bytes:
		return c.text(base64.StdEncoding.EncodeToString(v))
	case types.Duration:
		return c.text(v.Duration.String()) // as metav1.Duration has it
	case types.Timestamp:
		return c.text(v.UTC().Format(time.RFC3339Nano))
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return c.value(v.GetValue())
	case traits.Mapper:
		return c.object(v)
	case traits.Lister:
		return c.list(v)
	}
	return c.ofKubernetes(v)
}

// ofKubernetes takes the types of the Kubernetes libraries that have a text.
func (c *conversion) ofKubernetes(v ref.Val) (any, error) {
	switch v := v.(type) {
	case apiservercel.Quantity:
		return c.text(v.String())
	case apiservercel.IP:
		return c.text(v.String())
	case apiservercel.CIDR:
		return c.text(v.String())
	case apiservercel.URL:
		return c.text(v.String())
	case apiservercel.Semver:
		return c.text(v.String())
	}
	return nil, fmt.Errorf("it yields a value of type %s, which is no JSON value", v.Type().TypeName())
}

func (c *conversion) text(s string) (any, error) {
	if c.left -= len(s); c.left < 0 {
		return nil, errTooLarge
	}
	return s, nil
}

func (c *conversion) object(m traits.Mapper) (any, error) {
	out := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.(types.String)
		if !ok {
			return nil, fmt.Errorf("it yields a map with a key of type %s: want texts", key.Type().TypeName())
		}
		if c.left -= len(name); c.left < 0 {
			return nil, errTooLarge
		}
		value, err := c.value(m.Get(key))
		if err != nil {
			return nil, err
		}
		out[string(name)] = value
	}
	return out, nil
}

func (c *conversion) list(l traits.Lister) (any, error) {
	out := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		value, err := c.value(it.Next())
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}
