package record

import (
	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// GracePeriodFacts returns the current facts that determine the recommended grace period.
func (s *Store) GracePeriodFacts() advice.GracePeriod {
	s.judge()
	g := s.GracePeriodSettings()
	g.Longest = s.LongestToBridge(s.now)
	return g
}

// graceFor is like GracePeriodFacts, but returns the zero value if r is not a node incident.
func (s *Store) graceFor(r *Record) advice.GracePeriod {
	if !r.IsAboutNodes() {
		return advice.GracePeriod{}
	}
	return s.GracePeriodFacts()
}

// Silences returns the current counts of silences by node, verdict and reason.
func (s *Store) Silences() []incident.Silences {
	s.judge()
	return s.Heartbeats.Silences(s.now)
}
