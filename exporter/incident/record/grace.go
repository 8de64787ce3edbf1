package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// RecommendedGracePeriod is the grace period to set as of now; 0 if there is none to recommend.
func (s *Store) RecommendedGracePeriod() time.Duration { return s.gracePeriod().Recommended() }

// gracePeriod is what decides about the grace period as of now.
func (s *Store) gracePeriod() advice.GracePeriod {
	s.judge()
	g := s.Facts()
	g.Longest = s.LongestToBridge(s.now)
	return g
}

// graceFor is what decides about the grace period, for an incident of nodes. Others do not need it.
func (s *Store) graceFor(r *Record) advice.GracePeriod {
	if !r.OfNodes() {
		return advice.GracePeriod{}
	}
	return s.gracePeriod()
}

// Silences counts the silences of each node as of now, by what was decided about them.
func (s *Store) Silences() []incident.Silences {
	s.judge()
	return s.Heartbeats.Silences(s.now)
}
