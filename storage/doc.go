// Package storage is what an object carries: its essence and digest, and the
// marker, which is the set of all Dogear annotations of one operator on one
// object. It is pure: no client, no clock, no randomness.
//
// The formats are a contract between releases and between the webhook and the
// controller, which may run different releases: unknown fields survive a read
// and a write, and a document with a higher version is left alone.
package storage
