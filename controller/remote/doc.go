// Package remote runs handlers over HTTP: an endpoint in any language is sent
// a HandlerReview, and its answer becomes what an SDK handler would return.
//
// Its parts:
//
//   - Handler makes the request, signs and sends it, and reads the answer
//     (request.go, redact.go, sign.go, exchange.go, decode.go, outcome.go)
//   - Guard and the dialers decide what may be dialled (guard.go, dial.go)
//   - Gate bounds the calls of an endpoint, and stops them while it is down
//     (gate.go, breaker.go)
//   - Resolver, Secrets: what an endpoint is made of, read from the cluster
//   - Callbacks, Receiver: outcomes that an endpoint sends later (token.go, receive.go)
//
// What an endpoint says is not trusted: its answer is bounded, decoded
// strictly, and its text is cut and cleaned. What is sent to it is never in an
// error, log or event. The protocol is in docs/protocol.md.
package remote
