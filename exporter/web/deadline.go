package web

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

const (
	// defaultTimeout is how long a client may take to read an answer if it does not say: Prometheus' default scrape timeout.
	defaultTimeout = 10 * time.Second
	// scrapeTimeoutHeader is where Prometheus sends its scrape timeout, in seconds.
	scrapeTimeoutHeader = "X-Prometheus-Scrape-Timeout-Seconds"
)

// withDeadline ends answers that a client reads too slowly: they take places that others need. Put it outside of handlers that wrap
// the ResponseWriter.
func withDeadline(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
		// Only a ResponseWriter without a connection returns an error. The server sets a new deadline for the next request.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(timeoutOf(r, server)))
		handler.ServeHTTP(w, r)
	})
}

// timeoutOf returns how long the client may take, at most the server's WriteTimeout.
func timeoutOf(r *http.Request, server *http.Server) time.Duration {
	longest := time.Duration(math.MaxInt64)
	if server != nil && server.WriteTimeout > 0 {
		longest = server.WriteTimeout
	}
	seconds, err := strconv.ParseFloat(r.Header.Get(scrapeTimeoutHeader), 64)
	// NaN and values that do not fit a time.Duration count as absent.
	if nanoseconds := seconds * float64(time.Second); err == nil && nanoseconds >= 1 && nanoseconds < math.MaxInt64 {
		return min(time.Duration(nanoseconds), longest)
	}
	return min(defaultTimeout, longest)
}
