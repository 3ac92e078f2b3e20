// Package expression compiles and runs the CEL expressions of handler sets:
// conditions, which select objects, and computed defaults.
//
// They have the language and libraries of CEL in Kubernetes, but for the
// authorizer, and lists and maps may mix types. There is no clock and no
// chance: what an expression yields depends on what it sees alone. One
// evaluation costs a few microseconds as a rule; one that costs more than
// [CostLimit] fails.
package expression
