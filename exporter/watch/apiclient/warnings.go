package apiclient

import (
	"log/slog"
	"sync"
)

// The type warnings logs each distinct warning from the API server once. Since v1.33, the server sends a warning with
// every Endpoints response (API lifecycle, "v1 Endpoints is deprecated").
type warnings struct {
	log  *slog.Logger
	lock sync.Mutex
	seen map[string]bool
}

// maxWarnings is the maximum number of warnings to keep in memory. The whole API has only a few.
const maxWarnings = 100

func newWarnings(log *slog.Logger) *warnings {
	return &warnings{log: log, seen: map[string]bool{}}
}

// HandleWarningHeader logs a warning that was not logged before. It implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if code != 299 || text == "" || w.seen[text] || len(w.seen) == maxWarnings {
		return
	}
	w.seen[text] = true
	w.log.Debug("warning from the API server", "warning", text)
}
