// Package sets runs HandlerSets: it watches ClusterHandlerSets and HandlerSets,
// declares what they say to an operator, and tells in their status what has
// come of it.
package sets
