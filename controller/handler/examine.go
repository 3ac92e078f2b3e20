package handler

import (
	"errors"
	"time"
)

type kind uint8

const (
	ignored kind = iota // no bearing on the outcome
	permanent
	temporary
)

// finding is what a tree of errors says as a whole.
type finding struct {
	kind    kind
	reason  string
	after   *time.Duration
	payload any
	err     error // a payload that doesn't encode
}

// examine walks the tree of an error. Of a chain the outermost Error decides,
// and inner ones fill in what it leaves out. Of branches, the whole is
// permanent only if all are, the shortest delay goes, and payloads merge, later
// ones over earlier ones.
func examine(err error, policy ErrorPolicy) finding {
	if e, ok := err.(*Error); ok {
		return e.examine(policy)
	}
	if branches := branchesOf(err); len(branches) > 0 {
		return examineBranches(branches, policy)
	}
	if inner := errors.Unwrap(err); inner != nil {
		return examine(inner, policy)
	}
	switch policy {
	case FailError:
		return finding{kind: permanent}
	case IgnoreError:
		return finding{kind: ignored}
	}
	return finding{kind: temporary}
}

func (e *Error) examine(policy ErrorPolicy) finding {
	f := finding{kind: temporary, reason: e.reason, after: e.after}
	if e.permanent {
		f.kind = permanent
	}
	f.payload, f.err = plainValue(e.payload)
	if e.cause == nil {
		return f
	}
	inner := examine(e.cause, policy)
	if f.reason == "" {
		f.reason = inner.reason
	}
	if f.after == nil && inner.kind == temporary {
		f.after = inner.after
	}
	f.payload = mergePayloads(inner.payload, f.payload)
	f.err = errors.Join(f.err, inner.err)
	return f
}

// branchesOf returns the errors that err joins: those of errors.Join and
// fmt.Errorf, and of an Aggregate of apimachinery, which errors.As overlooks.
func branchesOf(err error) []error {
	var all []error
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		all = e.Unwrap()
	case interface{ Errors() []error }:
		all = e.Errors()
	}
	var branches []error
	for _, branch := range all {
		if branch != nil {
			branches = append(branches, branch)
		}
	}
	return branches
}

func examineBranches(branches []error, policy ErrorPolicy) finding {
	var whole finding
	for _, branch := range branches {
		f := examine(branch, policy)
		switch {
		case f.kind > whole.kind:
			whole.kind, whole.reason = f.kind, f.reason
		case f.kind == whole.kind && whole.reason == "":
			whole.reason = f.reason
		}
		if f.kind == temporary && f.after != nil && (whole.after == nil || *f.after < *whole.after) {
			whole.after = f.after
		}
		whole.payload = mergePayloads(whole.payload, f.payload)
		whole.err = errors.Join(whole.err, f.err)
	}
	return whole
}

// isOwn tells whether there is a temporary or permanent error in the tree.
func isOwn(err error) bool {
	if _, ok := err.(*Error); ok {
		return true
	}
	for _, branch := range branchesOf(err) {
		if isOwn(branch) {
			return true
		}
	}
	inner := errors.Unwrap(err)
	return inner != nil && isOwn(inner)
}
