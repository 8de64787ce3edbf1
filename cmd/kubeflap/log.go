package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

// logFindings logs each transition in one line, with pod, IP and node: what nodes,
// Services and ready addresses gained and lost. The measurements between are for those who look closer.
func logFindings(logger *slog.Logger) func(flap.Finding) {
	return func(x flap.Finding) {
		if x.Kind == flap.HeartbeatSeen {
			return
		}
		// To put a finding into words takes longer than to find it.
		if level := levelOf(x); logger.Enabled(context.Background(), level) {
			logger.LogAttrs(context.Background(), level, x.String(), attributes(x)...)
		}
	}
}

func levelOf(x flap.Finding) slog.Level {
	switch x.Kind {
	case flap.NodeReadyChanged, flap.NodeTurnedUnseen, flap.HeartbeatMissed, flap.PodReadyChanged,
		flap.AddressReady, flap.AddressNotReady, flap.AddressAdded, flap.AddressRemoved,
		flap.OutageStarted, flap.OutageEnded, flap.EndpointsReset, flap.SelectorConflict:
		return slog.LevelInfo
	}
	// The watches' breaks are told where they are made, in exporter/kube, with their errors.
	return slog.LevelDebug
}

// attributes are the fields that are set.
func attributes(x flap.Finding) []slog.Attr {
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
	if x.Cause != flap.CauseUnknown {
		add("cause", x.Cause.String())
	}
	return all
}
