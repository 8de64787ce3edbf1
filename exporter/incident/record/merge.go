package record

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// MergeNodes merges node incidents into the active incident of another subject. If there is none, the first of them
// becomes this incident, and keeps its ID.
func (s *Store) MergeNodes(nodes []*Record, x Subject, t time.Time) *Record {
	into := s.Find(x, t)
	if into == nil {
		into, nodes = nodes[0], nodes[1:]
		delete(s.active, into.key())
		into.Subject, into.mergeableUntil = x, time.Time{}
		s.active[x.key()] = into
	}
	for _, r := range nodes {
		s.merge(r, into)
	}
	s.Touch(into, t)
	s.makeRoom()
	return into
}

func (s *Store) merge(r, into *Record) {
	r.into = into
	if into.start.After(r.start) {
		into.start = r.start
	}
	into.also = append(append(into.also, r.id), r.also...)
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
