package web

import (
	"net/http"
	"strconv"
	"time"
)

const (
	// WriteTimeout is the maximum time for any response.
	WriteTimeout = time.Minute
	// defaultTimeout is the maximum time for a response if the client sends no timeout. It equals Prometheus' default
	// scrape timeout.
	defaultTimeout = 10 * time.Second
	// scrapeTimeoutHeader is the header in which Prometheus sends its scrape timeout in seconds.
	scrapeTimeoutHeader = "X-Prometheus-Scrape-Timeout-Seconds"
)

// withDeadline aborts responses to slow clients. Slow clients could otherwise use up the limited number of concurrent
// requests. withDeadline must receive the server's own ResponseWriter, not a wrapper.
func withDeadline(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// SetWriteDeadline fails only if the ResponseWriter has no connection. The server sets a new deadline for the
		// next request.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeoutOf(r)))
		handler.ServeHTTP(w, r)
	})
}

// timeoutOf returns the maximum time for a response to the client.
func timeoutOf(r *http.Request) time.Duration {
	if seconds, err := strconv.ParseFloat(r.Header.Get(scrapeTimeoutHeader), 64); err == nil && seconds > 0 { // not NaN
		return time.Duration(min(seconds, WriteTimeout.Seconds()) * float64(time.Second))
	}
	return defaultTimeout
}
