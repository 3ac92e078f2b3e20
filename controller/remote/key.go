package remote

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Bounds of a signing key in bytes, those of Standard Webhooks.
const (
	minKey = 24
	maxKey = 64
)

const keyPrefix = "whsec_"

// Key signs requests. It prints as a placeholder, never as itself.
type Key struct{ bytes []byte }

// ParseKey reads a key as Standard Webhooks has it: "whsec_" and base64. Space
// around it, such as the newline of a file, is no part of it. Text without the
// prefix is refused: some libraries take it for base64, others as it is.
// Errors never quote it.
func ParseKey(text string) (Key, error) {
	encoded, ok := strings.CutPrefix(strings.TrimSpace(text), keyPrefix)
	if !ok {
		return Key{}, errors.New(`want "whsec_" and 24 to 64 bytes in base64`)
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return Key{}, errors.New(`want standard base64, with its padding, behind "whsec_"`)
	}
	if len(raw) < minKey || len(raw) > maxKey {
		return Key{}, fmt.Errorf("the key has %d bytes: want %d to %d, such as whsec_ and the output of openssl rand -base64 32", len(raw), minKey, maxKey)
	}
	return Key{bytes: raw}, nil
}

// String hides the key.
func (Key) String() string { return "[key]" }

// GoString hides the key.
func (Key) GoString() string { return "[key]" }

// MarshalText hides the key.
func (Key) MarshalText() ([]byte, error) { return []byte("[key]"), nil }
