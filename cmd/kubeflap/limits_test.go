package main

import (
	"log/slog"
	"net/http"
	"testing"
)

// TestLimits checks that each listener has all limits.
func TestLimits(t *testing.T) {
	s := newServer(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if s.ReadHeaderTimeout == 0 || s.ReadTimeout == 0 || s.WriteTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Errorf("no limit: %+v", s)
	}
}
