package main

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"
)

// TestLimits checks that each listener has all limits.
func TestLimits(t *testing.T) {
	s := newServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Errorf("no limit: %+v", s)
	}
	for name, address := range map[string]string{"main": start(t, ""), "probes": startProbes(t)} {
		for part, url := range map[string]string{"a query": "/-/healthy?x=" + strings.Repeat("x", 64<<10), "a path": "/" + strings.Repeat("x", 64<<10)} {
			if got := (visitor{}).status(t, "http://"+address+url); got != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("%s: %s of 64 KiB is answered with %d, want 431", name, part, got)
			}
		}
	}
}
