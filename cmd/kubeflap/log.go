package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/common/promslog"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// throughQueue makes loggers with this configuration write to a queue, and returns the queue.
func throughQueue(logging *promslog.Config) *logQueue {
	direct := *logging
	logger := promslog.New(&direct)
	queue := newLogQueue(logging.Writer, func(dropped int) {
		logger.Warn("log lines were dropped here because the log output was too slow", "lines", dropped)
	})
	logging.Writer = queue
	return queue
}

// throughTerminal returns a queue for the output of a command that watches or serves, because a stopped terminal must not
// block it. For example, heartbeats would then appear to be late.
func throughTerminal(out io.Writer) *logQueue {
	return newLogQueue(out, func(dropped int) {
		fmt.Fprintf(out, "%s left out: the terminal did not keep up\n", phrase.Count(dropped, "line", "lines"))
	})
}

// logReporter logs transitions and incidents.
type logReporter struct{ logger *slog.Logger }

// silent is a reporter that reports nothing.
var silent = logReporter{slog.New(slog.DiscardHandler)}

// transition logs every transition except normal heartbeats.
func (l logReporter) transition(x transition.Transition) {
	if _, ok := x.(transition.HeartbeatSeen); ok {
		return
	}
	// Check the level first, because formatting the message is expensive.
	if level := levelOf(x); l.logger.Enabled(context.Background(), level) {
		var room [7]slog.Attr
		l.logger.LogAttrs(context.Background(), level, x.String(), appendAttributes(room[:0], x)...)
	}
}

func levelOf(x transition.Transition) slog.Level {
	switch x.(type) {
	case transition.NodeReadyChanged, transition.NodeReadyMissed, transition.HeartbeatMissed, transition.HeartbeatsResumed, transition.PodReadyChanged, transition.PodLossExplained,
		transition.AddressReady, transition.AddressLost, transition.AddressAdded, transition.AddressRemoved,
		transition.OutageStarted, transition.OutageEnded, transition.EndpointsReset, transition.SelectorConflict,
		transition.ForeignAddresses:
		return slog.LevelInfo
	}
	// exporter/watch itself logs broken watches with their errors.
	return slog.LevelDebug
}

// appendAttributes appends the non-empty fields of a transition.
func appendAttributes(all []slog.Attr, x transition.Transition) []slog.Attr {
	all = append(all, slog.String("at", stamp(x.When())))
	add := func(key, value string) {
		if value != "" {
			all = append(all, slog.String(key, value))
		}
	}
	fields := transition.FieldsOf(x)
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

// incident writes a notice about an incident to the log. Only the last line about an incident contains its counts, its
// durations and its remedy.
func (l logReporter) incident(_ time.Time, n incident.Notice) {
	x := &n.Incident
	about := []any{"id", x.ID, "verdict", x.Verdict, "cause", x.Cause, "scope", x.Scope, "namespace", x.Namespace, "subject", x.Subject, "start", stamp(x.Start), "summary", x.Summary}
	if n.Into != "" {
		about = append(about, "into", n.Into)
	}
	if n.IsLast() {
		about = append(about, "seconds", time.Duration(x.Duration).Seconds(),
			"nodes", len(x.Nodes)+x.NodesLeftOut, "services", len(x.Services)+x.ServicesLeftOut, "addresses_lost", x.Lost,
			"outages", x.Outages, "outage_seconds", time.Duration(x.OutageTime).Seconds(), "remedy", x.Remedy, "waits_for", x.WaitsFor)
	}
	l.logger.Info(n.String(), about...)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
