package handler

// Reasons that Dogear gives where the handler has given none.
const (
	// ReasonError: a plain error, or a temporary or permanent one without Reason.
	ReasonError = "Error"
	// ReasonPanicked: the handler panicked.
	ReasonPanicked = "Panicked"
	// ReasonExited: the handler called runtime.Goexit.
	ReasonExited = "Exited"
	// ReasonTimedOut: the attempt took longer than Spec.Timeout.
	ReasonTimedOut = "AttemptTimedOut"
	// ReasonAbandoned: the process stopped, and the handler did not end with
	// its context.
	ReasonAbandoned = "Abandoned"
	// ReasonBadPayload: the payload does not encode to JSON.
	ReasonBadPayload = "BadPayload"
	// ReasonBadPatch: the patch names an annotation of Dogear, or labels or
	// annotations that the API server would refuse.
	ReasonBadPatch = "BadPatch"
	// ReasonUndecodable: the object does not decode as the handler's type.
	ReasonUndecodable = "Undecodable"
)
