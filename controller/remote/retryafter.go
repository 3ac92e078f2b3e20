package remote

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxDelay is the longest delay that an answer can ask for; a longer one is cut.
const MaxDelay = 24 * time.Hour

// retryAfter is the delay that the header of an answer asks for, in seconds or
// as a date, at most MaxDelay. One that is not positive or not readable is none.
func retryAfter(header http.Header, now time.Time) (delay time.Duration, ok bool) {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0, false
	}
	if isDigits(text) {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds > int64(MaxDelay/time.Second) { // more digits than fit
			return MaxDelay, true
		}
		return time.Duration(seconds) * time.Second, seconds > 0
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	delay = at.Sub(now)
	return min(delay, MaxDelay), delay > 0
}

func isDigits(text string) bool {
	return strings.Trim(text, "0123456789") == ""
}
