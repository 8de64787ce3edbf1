package track

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// Past is what a Tracker cannot learn again from the lists of all objects.
type Past struct {
	Coverage watches.Coverage `json:"coverage"`
	Nodes    nodes.Past       `json:"nodes"`
	// Outages holds each ongoing outage, by the UID of the Service. Remove them if kubeflap did not run for long, because
	// nobody knows whether they went on.
	Outages map[event.UID]services.Outage `json:"outages"`
}

// Past returns what was known at a time. Pass it to Restore.
func (t *Tracker) Past(at time.Time) Past {
	return asOf(t, at, func() Past {
		p := Past{t.watches.Coverage(), t.nodes.Past(at), t.services.Outages(at)}
		p.Coverage.NotWatched = nil // the events that follow show it
		return p
	})
}

// Restore takes over what an earlier Tracker knew of the same cluster when it stopped. Call it before the first event.
func (t *Tracker) Restore(p Past, stopped time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !p.Coverage.Since.IsZero() {
		t.watches.Continue(p.Coverage, stopped)
	}
	t.nodes.Restore(p.Nodes)
	t.services.RestoreOutages(p.Outages)
}
