package main

import (
	"context"

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
)

// scenario is what is measured. Its name is that of its results.
type scenario struct {
	name, about string
	measure     func(context.Context, *bench, scenario) (Scenario, error)
	// flags are those of Dogear and of the bare reconciler.
	flags []string
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

// attempts is how often the handler of the scenario "retry-delete" is called
// until it succeeds.
const attempts = "3"

var scenarios = []scenario{
	{
		name: "create", about: "objects are created as fast as the API server takes them, and a handler succeeds on each",
		measure: takeTurns, load: createLoad, behindNoop: true,
	},
	{
		name: "create-half", about: "the same at half the ceiling's rate, for the latency",
		measure: takeTurns, load: createLoad, share: 0.5, behindNoop: true,
	},
	{
		name: "create-no-webhook", about: "create, while Dogear's webhook is not installed",
		measure: takeTurns, load: createLoad, withoutWebhook: true,
	},
	{
		name: "update", about: "the spec of settled objects changes, and a handler succeeds on each",
		measure: takeTurns, load: updateLoad, behindNoop: true,
	},
	{
		name: "retry-delete", about: "two temporary errors, 100 ms apart, then success; then deletion, with a delete handler",
		measure: takeTurns, load: retryLoad, flags: []string{"-attempts", attempts, "-delay", "100ms", "-finalizer"},
	},
	{
		name: "restart", about: "a process starts where all objects are settled",
		measure: restart,
	},
	{
		name: "admission-create", about: "a CREATE, one at a time, from request to answer",
		measure: admission,
	},
	{
		name: "admission-update", about: "an UPDATE of the spec of a settled object, one at a time, from request to answer",
		measure: admission,
	},
}

// subjects are the contenders that are processes.
func (s scenario) subjects() []string {
	if s.behindNoop {
		return []string{subject.Bare, bareNoop, subject.Dogear}
	}
	return []string{subject.Bare, subject.Dogear}
}

// contenders take turns in each round; the first goes first in the first.
func (s scenario) contenders() []string { return append([]string{ceiling}, s.subjects()...) }
