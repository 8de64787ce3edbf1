package whatif

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// gap removes all events between two times, as if kubeflap had not been running, and adds the lists after the gap. The
// lists show each node with its current Ready condition, and its last renewal.
func (s *story) gap(from, to float64) {
	renewed := map[string]float64{}
	s.events = slices.DeleteFunc(s.events, func(e event.Event) bool {
		inGap := e.Seen.After(at(from)) && e.Seen.Before(at(to))
		if l, ok := e.Object.(*event.Lease); ok && e.Seen.Before(at(to)) {
			renewed[l.Name] = max(renewed[l.Name], e.Seen.Sub(begin).Seconds())
		}
		return inGap
	})
	for _, k := range event.Kinds() {
		s.note(from, k, event.Down)
	}
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		if n := s.nodes[name]; n != nil {
			s.add(to, event.Listed, n)
			s.add(to, event.Listed, lease(name, renewed[name]))
		}
	}
	for _, k := range event.Kinds() {
		s.note(to, k, event.Synced)
	}
}

// TestANodeThatStaysReadyOverAGap checks that a node was not set to Unknown in a gap if the list after the gap shows
// the Ready condition from before.
func TestANodeThatStaysReadyOverAGap(t *testing.T) {
	const before, during = -1000, 150
	for name, c := range map[string]struct {
		// before and after are lastTransitionTime before and after the gap. Zero means that it is not set.
		before, after float64
		status        event.Status
		grace, period time.Duration
		recorded      time.Duration
		outcome       answer.Outcome
	}{
		"the recorded setting":                     {before: before, after: before, grace: 40 * time.Second, outcome: answer.No},
		"a longer one":                             {before: before, after: before, grace: 45 * time.Second, outcome: answer.No},
		"a shorter one":                            {before: before, after: before, grace: 30 * time.Second, outcome: answer.Untold},
		"a shorter one with a shorter period":      {before: before, after: before, grace: 30 * time.Second, period: time.Second, outcome: answer.Untold},
		"a longer one with a shorter period":       {before: before, after: before, grace: 50 * time.Second, period: time.Second, outcome: answer.No},
		"as long, with a shorter period":           {before: before, after: before, grace: 40 * time.Second, period: time.Second, outcome: answer.Untold},
		"the assumed setting":                      {before: before, after: before, grace: 50 * time.Second, recorded: -1, outcome: answer.No},
		"Ready changed in the gap and back":        {before: before, after: during, grace: 40 * time.Second, outcome: answer.Untold},
		"by a clock that is an hour slow":          {before: before - 3600, after: during - 3600, grace: 40 * time.Second, outcome: answer.Untold},
		"stayed, by a clock that is an hour ahead": {before: before + 3600, after: before + 3600, grace: 40 * time.Second, outcome: answer.No},
		"without lastTransitionTime":               {grace: 40 * time.Second, outcome: answer.Untold},
		"not Ready afterwards":                     {before: before, after: during, status: event.StatusFalse, grace: 40 * time.Second, outcome: answer.Untold},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(2, 0)
			s.readySince(c.before)
			s.beatsUntil(400, "node-1", "node-2")
			s.nodes["node-1"].Ready.LastTransitionTime = changedAt(c.after)
			if c.status != 0 {
				s.nodes["node-1"].Ready.Status = c.status
			}
			s.gap(101, 299)
			s.ends(400)
			x := Settings{GracePeriod: c.grace, MonitorPeriod: c.period, Toleration: AsRecorded}
			if x.MonitorPeriod == 0 {
				x.MonitorPeriod = DefaultMonitorPeriod
			}
			if c.recorded == 0 {
				c.recorded = 40 * time.Second
			}
			if got := s.predictAll(max(c.recorded, 0), x).Settings[0].Transitions; outcomeOf(got) != c.outcome {
				t.Errorf("got %+v, want %s", got, c.outcome)
			}
		})
	}
}

// changedAt returns lastTransitionTime for a time in the story. Zero means that it is not set.
func changedAt(t float64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return at(t)
}

// readySince sets lastTransitionTime of all nodes in the first lists.
func (s *story) readySince(t float64) {
	for _, e := range s.events {
		if n, ok := e.Object.(*event.Node); ok {
			n.Ready.LastTransitionTime, s.nodes[n.Name].Ready.LastTransitionTime = changedAt(t), changedAt(t)
		}
	}
}

// TestTheRecordedRowAfterAGap checks that the row of the recorded settings shows the recorded result although
// kubeflap did not see the heartbeats in a gap, and that the gap does not look like a silence of all nodes.
func TestTheRecordedRowAfterAGap(t *testing.T) {
	s := newStory(3, 1)
	s.readySince(-1000)
	s.beatsUntil(60, "node-1")
	s.beatsUntil(600, "node-2", "node-3")
	s.unknown(102, "node-1")
	s.gap(130, 300)
	for t := 400.0; t <= 600; t += 10 {
		s.beats("node-1", t)
	}
	s.ready(404, "node-1")
	s.ends(600)
	a := s.predict(40*time.Second, 30*time.Second, 40*time.Second, 60*time.Second)
	if a.Recorded.NodesUnknown != 1 || *a.Check != (answer.Check{Right: 1}) {
		t.Errorf("recorded %+v, check %+v", a.Recorded, *a.Check)
	}
	for i, want := range []answer.Range{{AtLeast: 1, AtMost: 3}, exactly(1), exactly(1)} {
		if got := a.Settings[i]; got.NodesUnknown != want || got.Knee != (i == 1) {
			t.Errorf("%v s: to Unknown %v, want %v, knee %v", got.GracePeriodSeconds, got.NodesUnknown, want, got.Knee)
		}
	}
	text := strings.Join(a.CannotSay, "\n")
	if want := "Shorter grace periods than the recorded one, for nodes that stayed Ready in a gap: 2."; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
	if strings.Contains(text, "Silences of all nodes") || strings.Contains(text, "Silences that began or ended") {
		t.Errorf("the gap counts as silences:\n%s", text)
	}
}

// TestTheRecordedOutcomeBoundsOtherSettings checks that a shorter grace period marks at least the nodes that the
// recorded one marked, and a longer one at most those. No node renews its Lease from 10 s to 60 s, and the controller
// marks node-1 only.
func TestTheRecordedOutcomeBoundsOtherSettings(t *testing.T) {
	s := newStory(2, 0)
	s.beats("node-1", 10, 60, 70)
	s.beats("node-2", 11, 61, 71)
	s.unknown(58, "node-1")
	s.ready(62, "node-1")
	s.ends(75)
	for grace, want := range map[time.Duration]answer.Range{20 * time.Second: {AtLeast: 1, AtMost: 2}, 40 * time.Second: exactly(1), 45 * time.Second: {AtMost: 1}, 60 * time.Second: {}} {
		if got := s.predict(40*time.Second, grace).Settings[0].NodesUnknown; got != want {
			t.Errorf("%s: %v, want %v", grace, got, want)
		}
	}
	if got := s.predict(0, 20*time.Second).Settings[0].NodesUnknown; got != (answer.Range{AtMost: 2}) {
		t.Errorf("if the recorded grace period is unknown: %v", got)
	}
}

// TestANodeThatIsNeverReady checks that a node that is Unknown in the whole recording has no period in which it was
// Ready.
func TestANodeThatIsNeverReady(t *testing.T) {
	s := newStory(2, 0)
	s.events[1].Object.(*event.Node).Ready.Status = event.StatusUnknown // this is node-1
	s.beatsUntil(60, "node-2")
	s.ends(100)
	if got := s.predict(40*time.Second, 60*time.Second); got.Recorded.NodesUnknown != 0 {
		t.Errorf("%+v", got.Recorded)
	}
}
