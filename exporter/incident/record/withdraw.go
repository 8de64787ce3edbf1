package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// watchLagged is the reason for withdrawing an incident.
const watchLagged = "the watch delivered events late"

// WithdrawIfEmpty withdraws a node incident if it no longer contains a silence or another failure. Withdrawn incidents
// do not count as resolved.
func (s *Store) WithdrawIfEmpty(r *Record, t time.Time) {
	if !r.IsAboutNodes() || len(r.Silences) > 0 || r.Turned > 0 || r.Lost > 0 || r.Ongoing() {
		return
	}
	r.withdrawn, r.recovered = true, t
	s.Settle(r)
}

func (r *Record) withdrawnSummary() string {
	return "Withdrawn: " + watchLagged + ". The heartbeats of " + phrase.Count(r.nodeCount(), "node", "nodes") + " were on time."
}

const withdrawnRemedy = "Nothing is wrong with the nodes. If this happens often, look at the API server that kubeflap uses and at the network between them."
