// Package uninstall removes the service from a cluster so that nothing gets
// stuck: no webhook configuration without a server, no finalizer without a
// controller.
//
// A run is a list of steps. Each looks at what is there and does what is left to
// do, so that a run which was killed at any point is finished by another. The
// order is what keeps that true: the webhook goes first, as a finalizer that is
// taken off must not be stamped again; then the controllers; and the ledger,
// which knows of the kinds with finalizers, goes last.
//
// Only what the service has put on objects is taken off, each by a patch that
// fails where somebody else has changed the list meanwhile. An object that the
// API server refuses holds up no other: it is in the result, with the reason.
package uninstall
