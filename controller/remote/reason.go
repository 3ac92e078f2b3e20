package remote

// Reasons of outcomes that no endpoint has given. An answer that is an error
// by its HTTP status alone has "HTTP" and the status, such as HTTP503.
const (
	// ReasonEndpointDown: the endpoint counts as down and is not called now.
	ReasonEndpointDown = "EndpointDown"
	// ReasonRateLimited: the rate limit leaves no room for a call in time.
	ReasonRateLimited = "RateLimited"
	// ReasonEndpointMissing: what a call needs is not there or not usable: the
	// Service, its address, a Secret, a certificate.
	ReasonEndpointMissing = "EndpointMissing"
	// ReasonUnreachable: there was no connection (Waiting), or it ended before
	// there was an answer (an attempt).
	ReasonUnreachable = "EndpointUnreachable"
	// ReasonTimedOut: there was no connection (Waiting) or no answer in time.
	ReasonTimedOut = "EndpointTimedOut"
	// ReasonBadAnswer: the answer is no valid HandlerReview.
	ReasonBadAnswer = "BadAnswer"
	// ReasonRedirected: the answer leads elsewhere, which is never followed.
	ReasonRedirected = "Redirected"
)
