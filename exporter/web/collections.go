package web

import (
	"net/http"
	"runtime/debug"
	"sync"
)

// scrapes delays the garbage collections of the process. All handlers share it, because the percentage of garbage at which
// a collection begins is a setting of the process.
var scrapes struct {
	mu      sync.Mutex
	running int
	// percent is the percentage while no scrape runs.
	percent int
}

// withoutCollections delays garbage collections until the handler returns. A scrape takes 10 ms and allocates little, so
// that a collection can wait. A scrape that shares the processors with a collection takes twice as long. Collections wait
// only until there is twice as much garbage, because a client can read slowly.
func withoutCollections(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		beginScrape()
		defer endScrape()
		handler.ServeHTTP(w, r)
	})
}

func beginScrape() {
	scrapes.mu.Lock()
	defer scrapes.mu.Unlock()
	if scrapes.running++; scrapes.running == 1 {
		const unused = 100 // the percentage can be read only by setting another
		scrapes.percent = debug.SetGCPercent(unused)
		debug.SetGCPercent(2 * scrapes.percent)
	}
}

func endScrape() {
	scrapes.mu.Lock()
	defer scrapes.mu.Unlock()
	if scrapes.running--; scrapes.running == 0 {
		debug.SetGCPercent(scrapes.percent)
	}
}
