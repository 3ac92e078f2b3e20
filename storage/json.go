package storage

import "sigs.k8s.io/json"

// DecodeValue reads one JSON value as unstructured objects hold it, with the
// decoder of the API server: integers that fit become int64, all other numbers
// float64. A number too large for that is an error.
func DecodeValue(text []byte) (any, error) {
	var v any
	if err := json.UnmarshalCaseSensitivePreserveInts(text, &v); err != nil {
		return nil, err
	}
	return v, nil
}
