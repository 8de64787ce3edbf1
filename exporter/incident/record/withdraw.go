package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// watchWasLate is why an incident is withdrawn.
const watchWasLate = "the watch was late"

// WithdrawIfEmpty ends an incident of nodes that has no silences left and did no harm. A withdrawn incident is not counted.
func (s *Store) WithdrawIfEmpty(r *Record, t time.Time) {
	if !r.OfNodes() || len(r.Silences) > 0 || r.Turned > 0 || r.Lost > 0 || r.Ongoing() {
		return
	}
	r.withdrawn, r.recovered = true, t
	s.Settle(r)
}

func (r *Record) withdrawnSummary() string {
	return "Withdrawn: " + watchWasLate + ". The heartbeats of " + phrase.Count(r.nodeCount(), "node", "nodes") + " were in time, but kubeflap saw them later."
}

const withdrawnRemedy = "Nothing is wrong with the nodes. If this happens often, look at the API server that kubeflap uses and at the network between them."
