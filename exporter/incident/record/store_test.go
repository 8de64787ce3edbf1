package record

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestEveryIDIsKept checks that an incident answers to the IDs of all incidents that became part of it.
func TestEveryIDIsKept(t *testing.T) {
	s := NewStore(1000)
	var all []*Record
	var ids []string
	for i := range 2 * incident.MaxNodes {
		r := s.Begin(Subject{Kind: KindNode, Name: fmt.Sprintf("node-%d", i), Cause: cause.NodeHeartbeatLost}, zero, uint64(i)+1)
		r.Open.Nodes[r.Name] = time.Time{}
		all, ids = append(all, r), append(ids, r.id)
	}
	half := len(all) / 2
	clocks := s.MergeNodes(all[half:], ClocksSubject(), zero)
	s.MergeNodes(append(all[:half:half], clocks), ControlPlaneSubject(), zero)
	for _, id := range ids {
		if x, ok := s.Incident(id); !ok || x.ID != ids[0] {
			t.Errorf("%s belongs to %q", id, x.ID)
		}
	}
	if len(s.shown) != 1 || len(s.active) != 1 {
		t.Errorf("%d incidents are shown and %d active", len(s.shown), len(s.active))
	}
}

func TestManyRolloutsAtOnceAreBounded(t *testing.T) {
	s := NewStore(10)
	for i := range 2 * maxHarmless {
		now := zero.Add(time.Duration(i) * time.Millisecond)
		r := s.Begin(Subject{Kind: KindWorkload, Name: fmt.Sprintf("StatefulSet/web-%d", i), Cause: cause.PodDeleted}, now, 0)
		s.Touch(r, now)
	}
	if s.harmless > maxHarmless || s.harmless != len(s.active) {
		t.Errorf("%d look harmless and %d are active, want at most %d", s.harmless, len(s.active), maxHarmless)
	}
	s.Timers.Run(zero.Add(time.Hour), s.Advance)
	if s.harmless+len(s.active)+len(s.shown) > 0 {
		t.Errorf("left: %d, %d, %d", s.harmless, len(s.active), len(s.shown))
	}
}
