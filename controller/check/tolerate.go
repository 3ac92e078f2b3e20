package check

import "context"

// ofSets marks a fault of sets, or of the objects that they select: whoever may
// write a HandlerSet can cause it, and the installation is none the worse.
func (r Result) ofSets() Result {
	r.sets = true
	return r
}

// tolerant checks make a warning of a fault of sets.
func tolerant(checks []Check) []Check {
	for i := range checks {
		strict := checks[i].Run
		checks[i].Run = func(ctx context.Context) Result {
			result := strict(ctx)
			if result.Verdict == Failed && result.sets {
				result.Verdict = Warning
			}
			return result
		}
	}
	return checks
}
