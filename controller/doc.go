// Package controller is the operator: it watches objects, decides what is due
// (package plan), runs handlers, and writes what came of it.
//
// An operator is made by New, takes handlers by handler.Register, and runs
// until its context ends:
//
//	op, err := controller.New(controller.Options{Domain: "certs.example.com"})
//	handler.Register(op, handler.Spec{ID: "myapp", On: handler.Create}, provision)
//	err = op.Start(ctx)
//
// A pass is one look at one object; it writes once, at its end. See pass.go.
package controller
