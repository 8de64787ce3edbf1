package ledger

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newLedger(size int) *Ledger { return New(size, func(time.Time) {}) }

// TestEveryIDIsKept checks that an incident answers to the IDs of all incidents that became part of it.
func TestEveryIDIsKept(t *testing.T) {
	s := newLedger(1000)
	var all []*Record
	var ids []string
	for i := range 2 * incident.MaxNodes {
		r := s.Begin(incident.Subject{Kind: incident.KindNode, Name: fmt.Sprintf("node-%d", i), Cause: cause.NodeHeartbeatLost}, zero, uint64(i)+1)
		r.Fails(incident.Silent(r.Name), zero)
		all, ids = append(all, r), append(ids, r.id)
	}
	half := len(all) / 2
	manager := s.Merge(all[half:], incident.Subject{Kind: incident.KindControllerManager, Cause: cause.NodeHeartbeatLost}, zero)
	s.Merge(append(all[:half:half], manager), incident.ControlPlaneSubject(), zero)
	for _, id := range ids {
		if x, ok := NewReader(s).Incident(zero, id); !ok || x.ID != ids[0] {
			t.Errorf("%s belongs to %q", id, x.ID)
		}
	}
	if len(s.shown) != 1 || len(s.active) != 1 {
		t.Errorf("%d incidents are shown and %d active", len(s.shown), len(s.active))
	}
}
