// Package demo shows Dogear at work: it starts a control plane, runs an operator
// on it as two processes with rights of their own, creates objects as an
// ordinary user, and shows what becomes of them.
//
// What is shown is read from the objects alone, as anybody could who may list
// them. The handlers are those of examples/demo.
package demo
