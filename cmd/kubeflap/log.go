package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track"
)

// logFindings logs each transition in one line, with pod, IP and node: what nodes,
// Services and ready addresses gained and lost. The measurements between are for those who look closer.
func logFindings(logger *slog.Logger) func(track.Finding) {
	return func(x track.Finding) {
		if x.Kind == track.HeartbeatSeen {
			return
		}
		// To put a finding into words takes longer than to find it.
		if level := levelOf(x); logger.Enabled(context.Background(), level) {
			logger.LogAttrs(context.Background(), level, x.String(), attributes(x)...)
		}
	}
}

func levelOf(x track.Finding) slog.Level {
	switch x.Kind {
	case track.NodeReadyChanged, track.NodeTurnedUnseen, track.HeartbeatMissed, track.PodReadyChanged,
		track.AddressReady, track.AddressNotReady, track.AddressAdded, track.AddressRemoved,
		track.OutageStarted, track.OutageEnded, track.EndpointsReset, track.SelectorConflict:
		return slog.LevelInfo
	}
	// The watches' breaks are told where they are made, in exporter/watch, with their errors.
	return slog.LevelDebug
}

// attributes are the fields that are set.
func attributes(x track.Finding) []slog.Attr {
	all := append(make([]slog.Attr, 0, 7), slog.String("at", x.Time.UTC().Format(time.RFC3339Nano)))
	add := func(key, value string) {
		if value != "" {
			all = append(all, slog.String(key, value))
		}
	}
	add("namespace", x.Namespace)
	add("service", x.Service)
	add("pod", x.Pod)
	add("node", x.Node)
	if x.IP.IsValid() {
		add("ip", x.IP.String())
	}
	if x.Cause != track.CauseUnknown {
		add("cause", x.Cause.String())
	}
	return all
}
