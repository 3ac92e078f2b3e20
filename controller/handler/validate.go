package handler

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

var validID = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$`)

// Validate tells what of a Spec, defaults filled in, cannot be used.
func (s Spec) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !validID.MatchString(s.ID) || len(s.ID) > 253 {
		bad("ID %q: want 1 to 253 letters, digits and -_./, with a letter or digit at both ends", s.ID)
	}
	if s.On == 0 || s.On > Create|Update|Delete|Resume {
		bad("On: want at least one of Create, Update, Delete, Resume")
	}
	if _, err := labels.Parse(s.Labels); err != nil {
		bad("Labels %q: %w", s.Labels, err)
	}
	if s.Retry.Limit < 0 {
		bad("Retry.Limit is %d: want 0 (no limit) or more", s.Retry.Limit)
	}
	if !(s.Retry.Factor >= 1) || math.IsInf(s.Retry.Factor, 0) { // NaN compares as false
		bad("Retry.Factor is %v: want 1 or more", s.Retry.Factor)
	}
	if s.Retry.Initial < 0 || s.Retry.Max < s.Retry.Initial || s.Retry.Max > 24*time.Hour {
		bad("Retry.Initial is %s and Retry.Max is %s: want 0 <= Initial <= Max <= 24h", s.Retry.Initial, s.Retry.Max)
	}
	if s.Retry.Timeout < 0 {
		bad("Retry.Timeout is %s: want 0 (none) or more", s.Retry.Timeout)
	}
	if s.Revision < 0 {
		bad("Revision is %d: want 0 or more", s.Revision)
	}
	if s.Concurrency < 0 {
		bad("Concurrency is %d: want 0 (default) or more", s.Concurrency)
	}
	if err := s.Status.validate(s.ID); err != nil {
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("handler %q: %w", s.ID, err)
	}
	return nil
}

func (s StatusTarget) validate(id string) error {
	names := strings.Split(s.Path, ".")
	root := names[0]
	if s.Path == "" {
		root = id
	} else if slices.Contains(names, "") {
		return fmt.Errorf("Status.Path %q: want names joined by dots", s.Path)
	}
	if s.Target == Annotation {
		return nil
	}
	if root == "conditions" || root == "observedGeneration" {
		return fmt.Errorf("payloads would replace .status.%s, which belongs to the object's owner: set Status.Path to another place", root)
	}
	return nil
}
