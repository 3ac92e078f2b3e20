package rig

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// wait calls done until it returns no error. It ends with ctx, or after 30 s,
// and then tells the last error.
func wait(ctx context.Context, done func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := done()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// split parts "pods/status" into the resource and its subresource.
func split(path string) (resource, subresource string) {
	resource, subresource, _ = strings.Cut(path, "/")
	return resource, subresource
}
