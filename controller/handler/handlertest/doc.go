// Package handlertest runs one handler in a realistic request without a
// cluster, for the tests of handlers' authors.
//
//	outcome := handlertest.Run(t, spec, provision, certificate, handlertest.Options{Attempt: 3})
//	outcome.WantRetrying(t)
//	outcome.WantPayload(t, Phase{Phase: "Pending"})
//
// The handler's declaration is checked, its panics are caught, its time-out
// is kept, and its outcome is turned into a state by the very code that the
// operator uses. Only what the API server would do is left out.
package handlertest
