package check

import "slices"

// checks are all there are, in the order in which they are made. Of an operator
// that was made with the SDK only its API objects are known.
func (r *round) checks() []Check {
	if r.options.Domain != "" {
		return slices.Concat(r.apiChecks(), r.webhookChecks(), r.leaderChecks(), r.objectChecks())
	}
	return slices.Concat(
		r.apiChecks(), r.installedChecks(), r.crdChecks(), r.installationChecks(),
		r.rightsChecks(), r.webhookChecks(), r.leaderChecks(), r.setChecks(), r.objectChecks(),
	)
}
