package rig

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// None in a Match stands for an empty label: no subresource, no dry run, the
// core group.
const None = "-"

// A Request is a kind of request as the API server counts it. Verb is GET,
// LIST, WATCH, POST, PUT, PATCH, APPLY, DELETE, DELETECOLLECTION or CONNECT;
// DryRun is "" or "All"; a WATCH is counted when it ends.
type Request struct {
	Verb, Group, Version, Resource, Subresource string
	Code                                        int
	DryRun                                      string
}

// Requests are numbers of requests answered by the API server since it was
// started, its own to itself among them.
type Requests map[Request]int

// A Match selects requests. Empty fields match any; None matches the empty
// value.
type Match struct {
	Verb, Group, Version, Resource, Subresource string
	Code                                        int
	DryRun                                      string
}

// Requests reads the counts. A request is counted just after its answer was
// written, so one just made may be missing: see SettledRequests.
func (cp *ControlPlane) Requests(ctx context.Context) (Requests, error) {
	samples, err := cp.Samples(ctx, "apiserver_request_total")
	if err != nil {
		return nil, err
	}
	counts := Requests{}
	for _, sample := range samples {
		label := sample.Labels
		code, _ := strconv.Atoi(label["code"]) // 0 where no answer was written
		counts[Request{
			Verb: label["verb"], Group: label["group"], Version: label["version"], Resource: label["resource"],
			Subresource: label["subresource"], Code: code, DryRun: label["dry_run"],
		}] += int(sample.Value)
	}
	return counts, nil
}

// SettledRequests reads the counts until those that match are the same twice
// in a row, 25 ms apart, and returns the last. It ends with ctx or after 30 s.
func (cp *ControlPlane) SettledRequests(ctx context.Context, match Match) (Requests, error) {
	var last, now Requests
	err := wait(ctx, func() (err error) {
		last = now
		if now, err = cp.Requests(ctx); err != nil {
			return err
		}
		if last == nil || !maps.Equal(last.Only(match), now.Only(match)) {
			return fmt.Errorf("requests are still being made: %v", now.Sub(last).Only(match))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for requests to end: %w", err)
	}
	return now, nil
}

// Sub returns what was added since before. Both must be of the same run of
// the API server: a restart begins at zero.
func (r Requests) Sub(before Requests) Requests {
	added := Requests{}
	for request, count := range r {
		if count != before[request] {
			added[request] = count - before[request]
		}
	}
	return added
}

// Only returns those that match.
func (r Requests) Only(match Match) Requests {
	picked := maps.Clone(r)
	maps.DeleteFunc(picked, func(request Request, _ int) bool { return !match.matches(request) })
	return picked
}

// Count returns the number of those that match any of the given, all if none
// is given. A request that several match counts once.
func (r Requests) Count(matches ...Match) int {
	sum := 0
	for request, count := range r {
		if len(matches) == 0 || slices.ContainsFunc(matches, func(m Match) bool { return m.matches(request) }) {
			sum += count
		}
	}
	return sum
}

// String returns a line for each kind of request, sorted, for a test's failure.
func (r Requests) String() string {
	lines := make([]string, 0, len(r))
	for q, count := range r {
		path := strings.Trim(strings.Join([]string{q.Group, q.Version, q.Resource, q.Subresource}, "/"), "/")
		line := fmt.Sprintf("%-6s %s -> %d: %d", q.Verb, path, q.Code, count)
		if q.DryRun != "" {
			line += " (dry run " + q.DryRun + ")"
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (m Match) matches(request Request) bool {
	same := func(wanted, is string) bool {
		return wanted == "" || wanted == is || wanted == None && is == ""
	}
	return same(m.Verb, request.Verb) && same(m.Group, request.Group) && same(m.Version, request.Version) &&
		same(m.Resource, request.Resource) && same(m.Subresource, request.Subresource) &&
		same(m.DryRun, request.DryRun) && (m.Code == 0 || m.Code == request.Code)
}
