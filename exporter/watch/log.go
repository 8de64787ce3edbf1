package watch

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// RedirectKlog redirects client-go's log to logger at lower levels (see quiet), because this package itself logs the
// important events. Call it once at startup, because klog's logger is global and must not be set while other goroutines
// log.
func RedirectKlog(logger *slog.Logger) {
	klog.SetSlogLogger(slog.New(quiet{logger.Handler()}))
}

func klogTo(logger *slog.Logger) klog.Logger {
	return logr.FromSlogHandler(quiet{logger.Handler()})
}

// quiet lowers the levels of client-go's log: errors become warnings, and all other lines become debug. A reflector
// logs every failed attempt, for hours if the server is down.
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
	return q.Handler.Handle(ctx, record) //nolint:wrapcheck // this is the handler's own error
}

func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(attrs)} }

func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.Handler.WithGroup(name)} }
