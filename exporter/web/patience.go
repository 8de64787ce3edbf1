package web

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

const (
	// readerTime is what a reader may take for an answer who does not say how long he will wait: Prometheus' own default.
	readerTime = 10 * time.Second
	// scrapeTimeout is where Prometheus says how long it will wait.
	scrapeTimeout = "X-Prometheus-Scrape-Timeout-Seconds"
)

// patient gives up on a reader who takes longer for the answer than he would wait for it: he holds a place that others need.
// It must be outside of what wraps the writer.
func patient(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
		// Only a writer that is no connection has no deadline. The server sets its own for the next request.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience(r, server)))
		handler.ServeHTTP(w, r)
	})
}

// patience is how long a reader may take, at most what the server allows.
func patience(r *http.Request, server *http.Server) time.Duration {
	longest := time.Duration(math.MaxInt64)
	if server != nil && server.WriteTimeout > 0 {
		longest = server.WriteTimeout
	}
	seconds, err := strconv.ParseFloat(r.Header.Get(scrapeTimeout), 64)
	// What is no time.Duration is no time that anybody waits.
	if nanoseconds := seconds * float64(time.Second); err == nil && nanoseconds >= 1 && nanoseconds < math.MaxInt64 {
		return min(time.Duration(nanoseconds), longest)
	}
	return min(readerTime, longest)
}
