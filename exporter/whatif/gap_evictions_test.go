package whatif

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// lostForLong returns a story of three nodes in which node-1 is silent from 60 s to 560 s. The controller sets it to
// Unknown at 102 s. No pod is evicted. Nobody watches from 130 s to 160 s.
func lostForLong() *story {
	s := newStory(3, 3)
	s.readySince(-1000)
	s.beatsUntil(60, "node-1")
	s.beatsUntil(600, "node-2", "node-3")
	s.unknown(102, "node-1")
	s.gap(130, 160)
	for t := 560.0; t <= 600; t += 10 {
		s.beats("node-1", t)
	}
	s.ready(564, "node-1")
	s.ends(600)
	return s
}

// TestMarksThatOnlyMayHappenExcludeNoEviction checks that the controller counts as certainly idle only if every node is
// certainly Unknown. With a grace period of 20 s, the other nodes may have been marked in the gap.
func TestMarksThatOnlyMayHappenExcludeNoEviction(t *testing.T) {
	for grace, want := range map[time.Duration]answer.Range{20 * time.Second: {AtLeast: 0, AtMost: 1}, 40 * time.Second: exactly(1), 50 * time.Second: exactly(1)} {
		x := Settings{GracePeriod: grace, MonitorPeriod: DefaultMonitorPeriod, Toleration: 200 * time.Second}
		if got := lostForLong().predictAll(40*time.Second, x).Settings[0].Evictions; got != want {
			t.Errorf("%s: %v evictions, want %v", grace, got, want)
		}
	}
}

// TestASilenceLongAfterAGap checks that a node turns Unknown if it stays silent for the whole grace period after the
// gap, although nobody knows whether the controller worked in the gap.
func TestASilenceLongAfterAGap(t *testing.T) {
	for name, c := range map[string]struct {
		how     func(*story)
		grace   time.Duration
		outcome answer.Outcome
	}{
		"long enough after the gap":          {grace: 80 * time.Second, outcome: answer.Yes},
		"not long enough after the gap":      {how: func(s *story) { s.beats("node-1", 230) }, grace: 80 * time.Second, outcome: answer.Untold},
		"another leader after the gap":       {how: func(s *story) { s.leads(5, "a"); s.leads(170, "b") }, grace: 80 * time.Second, outcome: answer.Untold},
		"all nodes are silent after the gap": {how: func(s *story) { s.quiet(170, 300) }, grace: 80 * time.Second, outcome: answer.Untold},
	} {
		t.Run(name, func(t *testing.T) {
			s := lostForLong()
			if c.how != nil {
				c.how(s)
			}
			if got := s.predict(40*time.Second, c.grace).Settings[0].Transitions; outcomeOf(got) != c.outcome {
				t.Errorf("got %+v, want %s", got, c.outcome)
			}
		})
	}
}

// quiet removes all renewals between two times.
func (s *story) quiet(from, to float64) {
	var all []event.Event
	for _, e := range s.events {
		if e.Kind != event.KindLease || e.Type != event.Modified || e.Seen.Before(at(from)) || e.Seen.After(at(to)) {
			all = append(all, e)
		}
	}
	s.events = all
}
