// Package handler is what the author of a handler imports: how a handler is
// declared, what it is told, and what its results and errors lead to.
//
// A handler is a function with a stable ID:
//
//	func provision(ctx context.Context, req *handler.Request[*cmapi.Certificate]) (handler.Result, error)
//
// It is registered with an operator for the objects of one resource:
//
//	handler.Register(op, handler.Spec{ID: "myapp", On: handler.Create | handler.Update}, provision)
//
// A handler runs at least once for the newest state of every object that it
// selects. It may run again for the same state after a crash between its end
// and the write of its outcome; Request.IdempotencyID is the same then. It
// never runs twice at the same time for one object.
package handler
