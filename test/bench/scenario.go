package main

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/dogear-dev/dogear/test/bench/subject"
)

// Contenders beside the subjects.
const (
	// ceiling is the driver itself, which sends the requests that the others
	// would at least need.
	ceiling = "ceiling"
	// none is the API server without a webhook.
	none = "none"
	// bareNoop is the bare reconciler while a webhook that allows everything is
	// called for its objects: what admission costs, whoever does it.
	bareNoop = "bare-noop"
	// deadSame is the service beside a second handler on the same objects,
	// whose endpoint never answers; deadOthers is it beside as many further
	// objects that wait for such an endpoint.
	deadSame   = "http-dead-neighbour"
	deadOthers = "http-dead-backlog"
)

// Names of references, to the service, that are contenders by another name.
const (
	theSDK = "sdk"
	alone  = "alone" // the service without a dead endpoint
)

// subjectOf is the subject that a contender is, by the same name but for those
// that are the service in other company.
func subjectOf(contender string) string {
	if contender == deadSame || contender == deadOthers {
		return subject.HTTP
	}
	return contender
}

// scenario is what is measured by contenders that take turns.
type scenario struct {
	results []result
	measure func(context.Context, *bench, scenario) ([]Scenario, error)
	// attempts is how often the handler is called until it succeeds, delay
	// the time between two of them. Default: once.
	attempts int
	delay    time.Duration
	// finalizer has deletion handled, too.
	finalizer bool
	// withoutWebhook leaves Dogear to its controller.
	withoutWebhook bool
	// behindNoop adds bareNoop to the contenders.
	behindNoop bool
	// load is what the rounds of a scenario measured by takeTurns do.
	load load
	// share, if set, is how much of the ceiling's rate objects arrive at.
	// Default: as fast as the API server takes them.
	share float64
}

// result is what a scenario says of one contender, under a name of its own.
type result struct{ name, of, about string }

// both are the results of a scenario of the SDK and of the service.
func both(name, about string) []result {
	return []result{
		{name, subject.Dogear, about},
		{"http-" + name, subject.HTTP, name + " with the service, whose handler is an endpoint on loopback"},
	}
}

func sdkOnly(name, about string) []result { return []result{{name, subject.Dogear, about}} }

var scenarios = []scenario{
	{
		results: append(both("create", "objects are created as fast as the API server takes them, and a handler succeeds on each"),
			result{deadSame, deadSame, "http-create, where a second handler, whose endpoint never answers, is due on each object first"},
			result{deadOthers, deadOthers, "http-create beside as many objects that wait for an endpoint which never answers"}),
		measure: takeTurns, load: createLoad, behindNoop: true,
	},
	{
		results: both("create-half", "the same at half the ceiling's rate, for the latency"),
		measure: takeTurns, load: createLoad, share: 0.5, behindNoop: true,
	},
	{
		results: sdkOnly("create-no-webhook", "create, while Dogear's webhook is not installed"),
		measure: takeTurns, load: createLoad, withoutWebhook: true,
	},
	{
		results: both("update", "the spec of settled objects changes, and a handler succeeds on each"),
		measure: takeTurns, load: updateLoad, behindNoop: true,
	},
	{
		results: both("retry-delete", "two temporary errors, 100 ms apart, then success; then deletion, with a delete handler"),
		measure: takeTurns, load: retryLoad, attempts: 3, delay: 100 * time.Millisecond, finalizer: true,
	},
	{
		results: both("restart", "a process starts where all objects are settled"),
		measure: restart,
	},
	{
		results: sdkOnly("admission-create", "a CREATE, one at a time, from request to answer"),
		measure: admission,
	},
	{
		results: sdkOnly("admission-update", "an UPDATE of the spec of a settled object, one at a time, from request to answer"),
		measure: admission,
	},
}

// only leaves of the results those whose names are selected.
func (s scenario) only(selected *regexp.Regexp) scenario {
	s.results = slices.DeleteFunc(slices.Clone(s.results), func(r result) bool { return !selected.MatchString(r.name) })
	return s
}

// name is that of the first result, for the progress.
func (s scenario) name() string { return s.results[0].name }

// flags are those of Dogear and of the bare reconciler.
func (s scenario) flags() (flags []string) {
	if s.attempts > 1 {
		flags = append(flags, "-attempts", strconv.Itoa(s.attempts), "-delay", s.delay.String())
	}
	if s.finalizer {
		flags = append(flags, "-finalizer")
	}
	return flags
}

// overHTTP tells whether the service takes part.
func (s scenario) overHTTP() bool {
	return slices.ContainsFunc(s.results, func(r result) bool { return subjectOf(r.of) == subject.HTTP })
}

// subjects are the contenders that are processes of their own.
func (s scenario) subjects() []string {
	subjects := []string{subject.Bare}
	if s.behindNoop {
		subjects = append(subjects, bareNoop)
	}
	subjects = append(subjects, subject.Dogear)
	if s.overHTTP() {
		subjects = append(subjects, subject.HTTP)
	}
	return subjects
}

// measured are the contenders that are measured: subjects, some of them in
// other company, too.
func (s scenario) measured() []string {
	all := s.subjects()
	for _, r := range s.results {
		if subjectOf(r.of) != r.of {
			all = append(all, r.of)
		}
	}
	return all
}

// contenders take turns in each round; the first goes first in the first.
func (s scenario) contenders() []string { return append([]string{ceiling}, s.measured()...) }
