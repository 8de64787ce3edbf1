package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident/heartbeats"
)

// RecommendedGracePeriod is the grace period to set as of now; 0 if there is none to recommend.
func (s *Store) RecommendedGracePeriod() time.Duration { return s.gracePeriod().Recommended() }

// gracePeriod is what decides about the grace period as of now.
func (s *Store) gracePeriod() advice.GracePeriod {
	g := s.Facts()
	g.Longest = s.LongestToBridge(heartbeats.Cluster{Now: s.now, History: &s.History, NodeLoss: s.NodeLoss})
	return g
}
