package cert

import (
	"context"
	"fmt"
	"io"
	"os"
)

// FromFiles serves a certificate chain and its key from two PEM files, provided
// or mounted from a Secret of cert-manager. Their content is compared on the
// interval, so it makes no difference how they are replaced; caught between the
// two writes, the pair does not match and the last good one goes on.
func FromFiles(certificateFile, keyFile string) *Source {
	return &Source{read: func(context.Context) (p pair, err error) {
		if p.certificate, err = readFile(certificateFile); err != nil {
			return pair{}, err
		}
		if p.key, err = readFile(keyFile); err != nil {
			return pair{}, err
		}
		return p, nil
	}}
}

// ReadCABundle reads the trusted authorities from a PEM file, for `caBundle` of
// a webhook configuration. It fails if there is none, or anything else in it.
func ReadCABundle(file string) ([]byte, error) {
	text, err := readFile(file)
	if err != nil {
		return nil, err
	}
	if _, err := ParseCABundle(text); err != nil {
		return nil, fmt.Errorf("read CA file %q: %w", file, err)
	}
	return text, nil
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read certificate file: %w", err)
	}
	defer file.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(file, maxPEM+1))
	if err != nil {
		return nil, fmt.Errorf("read certificate file %q: %w", name, err)
	}
	if len(text) > maxPEM {
		return nil, fmt.Errorf("%w: file %q has more than %d bytes", ErrData, name, maxPEM)
	}
	return text, nil
}
