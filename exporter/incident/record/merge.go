package record

import (
	"maps"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// MergeNodes merges node incidents into one control-plane incident.
func (s *Store) MergeNodes(nodes []*Record, into *Record) {
	for _, r := range nodes {
		s.merge(r, into)
	}
	s.makeRoom()
}

func (s *Store) merge(r, into *Record) {
	r.into = into
	if into.start.After(r.start) {
		into.start = r.start
	}
	if len(into.also) < maxAliases {
		into.also = append(into.also, r.id)
	}
	maps.Copy(into.Open.Nodes, r.Open.Nodes)
	for key, since := range r.Open.Addresses {
		into.Open.Addresses[key] = since
	}
	for service, since := range r.Open.Outages {
		into.Open.Outages[service] = since
	}
	into.take(&r.counts)
	if r.hasLastVerdict && !into.hasLastVerdict {
		into.lastVerdict, into.hasLastVerdict = r.lastVerdict, true
	}
	into.Evidence.Take(&r.Evidence)
	into.Timeline.Take(&r.Timeline)
	s.depart(r, incident.Merged, into)
	s.Settle(r)
	if i := slices.Index(s.shown, r); i >= 0 {
		s.shown = slices.Delete(s.shown, i, i+1)
	}
	s.Touch(into, r.recovered)
}
