package endpoints

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Outages returns the start of each ongoing outage that began by t, by the UID of the Service.
func (x *Endpoints) Outages(t time.Time) map[event.UID]time.Time {
	all := map[event.UID]time.Time{}
	x.services.each(func(s *service) {
		if s.exists && !s.outage.since.IsZero() && !s.outage.since.After(t) {
			all[s.uid] = s.outage.since
		}
	})
	return all
}

// RestoreOutages makes the given outages go on for those Services that have no ready address in the first lists.
func (x *Endpoints) RestoreOutages(all map[event.UID]time.Time) { x.restored = all }

// ContinueOutages reports the restored outages that go on. It does nothing until Services and their addresses are listed.
func (x *Endpoints) ContinueOutages(t time.Time) {
	if x.restored == nil || !x.watches.IsSynced(event.KindService) || !x.watches.IsSynced(x.readFrom) {
		return
	}
	for _, s := range x.services.inOrder() {
		if since := x.restored[s.uid]; !since.IsZero() && s.exists && s.addresses.Count[addresses.Ready] == 0 {
			s.outage.since = since
			x.found.Add(transition.OutageStarted{At: transition.At{Time: since, Waited: t.Sub(since)}, Service: s.Named()})
		}
	}
	x.restored = nil
}
