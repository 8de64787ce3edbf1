package metrics

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// watchRows returns the metrics of watches.
func watchRows() []row {
	watch := kind[watches.Watch]{"watch", func(now *snapshot) []watches.Watch { return now.watches }, func(to *Scrape, w *watches.Watch) {
		to.startObject(time.Time{}, w.Resource.String())
	}}
	return []row{
		watch.row(counter("kubeflap_watch_events_total",
			"Watch events received for the resource.", perResource, "resource", "type"), func(to *Scrape, w *watches.Watch) {
			for _, t := range [...]event.Type{event.Added, event.Modified, event.Deleted, event.Bookmark} {
				to.sample(float64(w.Events[t]), t.String())
			}
		}),
		watch.row(counter("kubeflap_watch_relists_total",
			"Number of times the resource was listed again because its watch could not be resumed.", perResource, "resource"),
			func(to *Scrape, w *watches.Watch) { to.sample(float64(w.Relists)) }),
		watch.row(counter("kubeflap_watch_errors_total",
			"Failed list requests for the resource, and watches that failed or broke.", perResource, "resource"),
			func(to *Scrape, w *watches.Watch) { to.sample(float64(w.Errors)) }),
		watch.row(gauge("kubeflap_watch_working",
			"1 while the watch of the resource works. 0 while it is broken or not permitted.", perWatch, "resource"),
			func(to *Scrape, w *watches.Watch) { to.sampleIf(w.Up || w.Expected, boolean(w.Up)) }),
		watch.row(gauge("kubeflap_watch_last_event_timestamp_seconds",
			"Unix time of the last event or bookmark received for the resource.", "per watched resource that has synced", "resource"),
			func(to *Scrape, w *watches.Watch) { to.sampleIf(!w.LastEvent.IsZero(), seconds(w.LastEvent)) }),
		watch.row(counter("kubeflap_watch_blind_seconds_total",
			"Time without a working watch on the resource since it was first synced. Excludes interruptions of less than a second in which no event was lost.", perResource, "resource"),
			func(to *Scrape, w *watches.Watch) { to.sample(w.Blind.Seconds()) }),
		single(gauge("kubeflap_classes_info",
			"Constant 1. The version label is the version of the classes and verdicts, which the alert rules depend on.", always, "version"),
			func(to *Scrape, _ *snapshot) { to.sample(1, "1") }),
	}
}

// seconds returns a Unix time, or 0 for the zero value.
func seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}
