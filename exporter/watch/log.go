package watch

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// RedirectKlog redirects client-go's log to the given logger, at lower levels. Call RedirectKlog at startup, because
// klog's global logger must not be set while other goroutines log.
func RedirectKlog(logger *slog.Logger) {
	klog.SetSlogLogger(slog.New(quiet{logger.Handler()}))
}

func klogTo(logger *slog.Logger) klog.Logger {
	return logr.FromSlogHandler(quiet{logger.Handler()})
}

// quiet is a handler that lowers the levels of client-go's log lines, because a reflector logs every failed attempt.
// Errors become warnings, and all other lines become debug lines.
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
	return q.Handler.Handle(ctx, record) //nolint:wrapcheck // the inner handler's error
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
