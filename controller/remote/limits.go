package remote

import "time"

// Limits bound the calls of an endpoint. The zero value is the default.
type Limits struct {
	// Concurrency is the number of calls at the same time. Default: 8.
	Concurrency int
	// Rate is the number of calls a second, on average; Burst the number that
	// may begin at once. Default: no limit; a burst of one second's calls.
	Rate  float64
	Burst int
	// Failures is the number of calls without an answer, in a row, after which
	// the endpoint counts as down. Default: 5.
	Failures int
	// FirstProbe is when the endpoint is tried again for the first time,
	// LongestProbe the longest delay between tries. Default: 1 s, 1 min.
	FirstProbe, LongestProbe time.Duration
}

// WithDefaults fills in what is zero.
func (l Limits) WithDefaults() Limits {
	if l.Concurrency <= 0 {
		l.Concurrency = 8
	}
	if l.Burst <= 0 {
		l.Burst = max(1, int(l.Rate))
	}
	if l.Failures <= 0 {
		l.Failures = 5
	}
	if l.FirstProbe <= 0 {
		l.FirstProbe = time.Second
	}
	if l.LongestProbe <= 0 {
		l.LongestProbe = max(time.Minute, l.FirstProbe)
	}
	return l
}
