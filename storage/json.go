package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// decodeJSON reads one JSON value as unstructured objects hold it: integers
// as int64, other numbers as float64.
func decodeJSON(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text after the JSON value")
	}
	return plainNumbers(v), nil
}

// DecodeValue reads one JSON value as unstructured objects hold it: integers
// as int64, other numbers as float64.
func DecodeValue(text []byte) (any, error) { return decodeJSON(text) }

func plainNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, item := range v {
			v[key] = plainNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plainNumbers(item)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	}
	return v
}
