package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// logTransitions logs each transition in one line, with pod, IP and node: what nodes,
// Services and ready addresses gained and lost. The measurements between are for those who look closer.
func logTransitions(logger *slog.Logger) func(transition.Transition) {
	return func(x transition.Transition) {
		if _, ok := x.(transition.HeartbeatSeen); ok {
			return
		}
		// The sentence costs more than the transition.
		if level := levelOf(x); logger.Enabled(context.Background(), level) {
			logger.LogAttrs(context.Background(), level, x.String(), attributes(x)...)
		}
	}
}

func levelOf(x transition.Transition) slog.Level {
	switch x.(type) {
	case transition.NodeReadyChanged, transition.NodeReadyMissed, transition.HeartbeatMissed, transition.PodReadyChanged,
		transition.AddressReady, transition.AddressLost, transition.AddressAdded, transition.AddressRemoved,
		transition.OutageStarted, transition.OutageEnded, transition.EndpointsReset, transition.SelectorConflict:
		return slog.LevelInfo
	}
	// exporter/watch logs the breaks of watches itself, with their errors.
	return slog.LevelDebug
}

// attributes are the fields that are set.
func attributes(x transition.Transition) []slog.Attr {
	all := append(make([]slog.Attr, 0, 7), slog.String("at", x.When().UTC().Format(time.RFC3339Nano)))
	add := func(key, value string) {
		if value != "" {
			all = append(all, slog.String(key, value))
		}
	}
	fields := x.Fields()
	add("namespace", fields.Namespace)
	add("service", fields.Service)
	add("pod", fields.Pod)
	add("node", fields.Node)
	if fields.IP.IsValid() {
		add("ip", fields.IP.String())
	}
	if fields.Cause != cause.Unknown {
		add("cause", fields.Cause.String())
	}
	return all
}
