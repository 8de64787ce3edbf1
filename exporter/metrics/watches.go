package metrics

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

type watchMetrics struct {
	events, relists, errors, synced, lastEvent, blind, unavailable *Metric
}

func newWatchMetrics() *watchMetrics {
	return &watchMetrics{
		events: counter("kubeflap_watch_events_total",
			"Watch events received for the resource.", perResource, "resource", "type"),
		relists: counter("kubeflap_watch_relists_total",
			"Number of times the resource was listed again because its watch could not be resumed.", perResource, "resource"),
		errors: counter("kubeflap_watch_errors_total",
			"Failed list requests for the resource, and watches that failed or broke.", perResource, "resource"),
		synced: gauge("kubeflap_watch_synced",
			"1 once the resource has been listed, 0 before that and while it is unavailable.", perResource, "resource"),
		lastEvent: gauge("kubeflap_watch_last_event_timestamp_seconds",
			"Unix time of the last event or bookmark received for the resource.", "one per watched resource after it has synced, except the optional control plane Leases", "resource"),
		blind: counter("kubeflap_watch_blind_seconds_total",
			"Time without a working watch on the resource since it was first synced. Excludes interruptions of less than a second in which no event was lost.", perResource, "resource"),
		unavailable: gauge("kubeflap_watch_unavailable",
			"1 while the resource cannot be watched because it is absent or forbidden. Metrics that need the resource are missing.", perUnavailable, "resource", "reason").experimental(),
	}
}

func (m *watchMetrics) catalogue() Catalogue {
	return Catalogue{m.events, m.relists, m.errors, m.synced, m.lastEvent, m.blind, m.unavailable}
}

func (m *watchMetrics) collect(to *scrape, now *snapshot) {
	for i := range now.watches {
		m.collectWatch(to, &now.watches[i])
	}
}

func (m *watchMetrics) collectWatch(to *scrape, w *watches.Watch) {
	to.startObject(time.Time{}, "resource", w.Resource.String())
	for _, t := range []event.Type{event.Added, event.Modified, event.Deleted, event.Bookmark} {
		to.sample(m.events, float64(w.Events[t]), t.String())
	}
	to.sample(m.relists, float64(w.Relists))
	to.sample(m.errors, float64(w.Errors))
	to.sample(m.synced, boolean(w.Synced))
	to.sample(m.blind, w.Blind.Seconds())
	if !w.LastEvent.IsZero() {
		to.sample(m.lastEvent, seconds(w.LastEvent))
	}
	if w.Unavailable != "" {
		to.sample(m.unavailable, 1, string(w.Unavailable))
	}
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
