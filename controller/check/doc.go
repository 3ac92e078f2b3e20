// Package check finds out what is wrong with an installation of Dogear, and says
// what to do about it. It only reads; what it has the API server make are reviews
// and dry runs.
//
// The list of checks is in list.go, and each group of them in a file of its own.
// A check looks at the cluster through what all checks of a round share (round.go),
// so that nothing is read twice. Missing rights of the person who asks are no
// fault of the installation: such a check is skipped, and says which right it is.
package check
