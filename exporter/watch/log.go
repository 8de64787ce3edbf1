package watch

import (
	"context"
	"log/slog"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// RedirectKlog makes the rest of client-go log to logger, at debug level: what
// matters of it, this package says itself. To be called once, at the start:
// klog's logger is global, and setting it is not safe while others log.
func RedirectKlog(logger *slog.Logger) {
	klog.SetSlogLogger(slog.New(quiet{logger.Handler()}))
}

func klogTo(logger *slog.Logger) klog.Logger {
	return logr.FromSlogHandler(quiet{logger.Handler()})
}

// quiet lowers what client-go logs to debug level: a reflector logs each failed
// try of a retry that may go on for hours. Its errors become warnings.
type quiet struct{ slog.Handler }

func lowered(level slog.Level) slog.Level {
	if level >= slog.LevelError {
		return slog.LevelWarn
	}
	return min(level, slog.LevelDebug)
}

func (q quiet) Enabled(ctx context.Context, level slog.Level) bool {
	return q.Handler.Enabled(ctx, lowered(level))
}

func (q quiet) Handle(ctx context.Context, record slog.Record) error {
	record.Level = lowered(record.Level)
	return q.Handler.Handle(ctx, record) //nolint:wrapcheck // it is the handler's own error
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }

// warnings logs each warning of the API server once. Since v1.33 the server sends
// one with every answer about Endpoints (API lifecycle, "v1 Endpoints is deprecated").
type warnings struct {
	log  *slog.Logger
	lock sync.Mutex
	seen map[string]bool
}

// maxWarnings bounds the memory; there are a handful of warnings in the whole API.
const maxWarnings = 100

func newWarnings(log *slog.Logger) *warnings {
	return &warnings{log: log, seen: map[string]bool{}}
}

// HandleWarningHeader is what rest.Config wants of a WarningHandler.
func (w *warnings) HandleWarningHeader(code int, _, text string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if code != 299 || text == "" || w.seen[text] || len(w.seen) == maxWarnings {
		return
	}
	w.seen[text] = true
	w.log.Debug("the API server warns", "warning", text)
}
