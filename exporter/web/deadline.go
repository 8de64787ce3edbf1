package web

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

const (
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
		server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
		// SetWriteDeadline fails only if the ResponseWriter has no connection. The server sets a new deadline for the
		// next request.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeoutOf(r, server)))
		handler.ServeHTTP(w, r)
	})
}

// timeoutOf returns the maximum time for a response to the client. It is at most the server's WriteTimeout.
func timeoutOf(r *http.Request, server *http.Server) time.Duration {
	longest := time.Duration(math.MaxInt64)
	if server != nil && server.WriteTimeout > 0 {
		longest = server.WriteTimeout
	}
	seconds, err := strconv.ParseFloat(r.Header.Get(scrapeTimeoutHeader), 64)
	// Ignore NaN and values that do not fit into a time.Duration.
	if nanoseconds := seconds * float64(time.Second); err == nil && nanoseconds >= 1 && nanoseconds < math.MaxInt64 {
		return min(time.Duration(nanoseconds), longest)
	}
	return min(defaultTimeout, longest)
}
