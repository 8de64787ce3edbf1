package watch

import (
	"log/slog"

	"k8s.io/klog/v2"
)

// RedirectKlog redirects client-go's log to the given logger. Call RedirectKlog at startup, because klog's global logger
// must not be set while other goroutines log.
func RedirectKlog(logger *slog.Logger) { klog.SetSlogLogger(logger) }
