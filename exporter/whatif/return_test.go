package whatif

import (
	"math"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// TestTheNodeIsReadyBeforeItsPods checks that evictions depend on the return of the node, whose taint the controller
// then removes, and not on that of the pods.
func TestTheNodeIsReadyBeforeItsPods(t *testing.T) {
	s := newStory(3, 1)
	s.beats("node-1", 10, 70, 80, 90, 100)
	s.unknown(52, "node-1")
	n := s.nodes["node-1"]
	n.Ready.Status, n.Ready.LastHeartbeatTime = event.StatusTrue, at(71)
	s.add(71, event.Modified, n)
	s.ready(80, "node-1")
	s.beatsUntil(100, "node-2", "node-3")
	s.ends(100)
	// With a grace period of 20 s, the node is Unknown at 29.7 s to 35.5 s, and the taint is removed at 70 s to 85.5 s.
	for toleration, want := range map[time.Duration]answer.Range{30 * time.Second: exactly(1), 42 * time.Second: {AtMost: 1}, 60 * time.Second: {}} {
		x := Settings{GracePeriod: 20 * time.Second, MonitorPeriod: DefaultMonitorPeriod, Toleration: toleration}
		if got := s.predictAll(40*time.Second, x).Settings[0]; got.Evictions != want {
			t.Errorf("tolerated for %s: %+v evictions, want %+v", toleration, got.Evictions, want)
		}
	}
}

// TestTheRecordedReturn checks that the recorded time of the return is only used for the recorded settings: in another
// cluster, the kubelet of a node that returned after 1 s may report its status one interval later.
func TestTheRecordedReturn(t *testing.T) {
	for returned, want := range map[float64]answer.Range{71: {}, 79.5: exactly(1)} {
		s := newStory(3, 1)
		s.beats("node-1", 10, 70, 80, 90, 100)
		s.unknown(52, "node-1")
		n := s.nodes["node-1"]
		n.Ready.Status, n.Ready.LastHeartbeatTime = event.StatusTrue, at(returned)
		s.add(returned, event.Modified, n)
		s.beatsUntil(100, "node-2", "node-3")
		s.ends(100)
		// The recorded controller sets the taint at 52 s, and another one at 49.7 s to 55.6 s.
		for period, want := range map[time.Duration]answer.Range{DefaultMonitorPeriod: want, 4 * time.Second: {AtMost: 1}} {
			x := Settings{GracePeriod: 40 * time.Second, MonitorPeriod: period, Toleration: 25 * time.Second}
			if got := s.predictAll(40*time.Second, x).Settings[0]; got.Evictions != want {
				t.Errorf("returned at %v s, monitor period %s: %+v evictions, want %+v", returned, period, got.Evictions, want)
			}
		}
	}
}

// TestWithoutARecordedReturn checks that the time of the node's return is open if the recorded controller did not set
// the node to Unknown: the kubelet reports its status every 10 s.
func TestWithoutARecordedReturn(t *testing.T) {
	s := newStory(3, 1)
	s.beats("node-1", 10, 70, 80, 90, 100)
	s.beatsUntil(100, "node-2", "node-3")
	s.ends(100)
	for toleration, want := range map[time.Duration]answer.Range{30 * time.Second: exactly(1), 40 * time.Second: {AtMost: 1}, 50 * time.Second: {AtMost: 1}, 60 * time.Second: {}} {
		x := Settings{GracePeriod: 20 * time.Second, MonitorPeriod: DefaultMonitorPeriod, Toleration: toleration}
		if got := s.predictAll(80*time.Second, x).Settings[0]; got.Evictions != want {
			t.Errorf("tolerated for %s: %+v evictions, want %+v", toleration, got.Evictions, want)
		}
	}
}

// TestTheEndOfAnEvictedPodIsNoReturn checks that an outage ends when the pods are back, although the kubelet also ends
// the pods that were evicted meanwhile.
func TestTheEndOfAnEvictedPodIsNoReturn(t *testing.T) {
	s := newStory(3, 1)
	s.pods["node-1"].ToleratesUnreachable.Seconds = 300
	evicted := &event.Pod{
		Meta: event.Meta{UID: event.UID{99}, Namespace: "shop", Name: "evicted"}, Node: "node-1", Phase: "Running",
		Ready: &event.Condition{Status: event.StatusTrue}, ContainersReady: event.StatusTrue, ToleratesUnreachable: &event.Toleration{Seconds: 5},
	}
	s.add(0.1, event.Added, evicted)
	s.beats("node-1", 10, 70, 80, 90, 100)
	s.unknown(52, "node-1")
	evicted.Ready.Status = event.StatusFalse
	s.add(52, event.Modified, evicted)
	evicted.Disruption, evicted.DeletionTimestamp = evictedByTaint, at(90)
	s.add(58, event.Modified, evicted)
	s.ready(72, "node-1")
	evicted.ContainersReady, evicted.Ready.Reason = event.StatusFalse, "PodCompleted"
	s.add(84, event.Modified, evicted)
	s.add(84.1, event.Deleted, evicted)
	s.beatsUntil(100, "node-2", "node-3")
	s.ends(100)
	// The outage begins at 10 + 25.5 s minus half a monitor period, and ends at 72 s.
	got := s.predict(40*time.Second, 20*time.Second).Settings[0].OutageSeconds
	if got.AtMost < 38.5 || got.AtMost > 39.7 || got.AtLeast != got.AtMost {
		t.Errorf("outage of %+v s, want 39 s", got)
	}
}

// TestAPodThatWasEvictedEarlier checks that a longer grace period evicts a pod later, although the pod was already gone
// by then in the recording.
func TestAPodThatWasEvictedEarlier(t *testing.T) {
	s := newStory(3, 1)
	s.beats("node-1", 10, 150, 160)
	s.unknown(52, "node-1")
	p := s.pods["node-1"]
	p.Disruption, p.DeletionTimestamp = evictedByTaint, at(112)
	s.add(82, event.Modified, p)
	s.add(83, event.Deleted, p)
	n := s.nodes["node-1"]
	n.Ready.Status, n.Ready.LastHeartbeatTime = event.StatusTrue, at(151)
	s.add(151, event.Modified, n)
	s.beatsUntil(160, "node-2", "node-3")
	s.ends(160)
	for grace, want := range map[time.Duration]answer.Range{20 * time.Second: exactly(1), 90 * time.Second: exactly(1), 110 * time.Second: {AtMost: 1}, 130 * time.Second: {}} {
		x := Settings{GracePeriod: grace, MonitorPeriod: DefaultMonitorPeriod, Toleration: AsRecorded}
		if got := s.predictAll(40*time.Second, x).Settings[0]; got.Evictions != want {
			t.Errorf("%s: %+v evictions, want %+v", grace, got.Evictions, want)
		}
	}
}

// TestTheRecordedFactsDoNotDependOnTheSettings checks that the node's return is attributed to the silence in which it
// turned Unknown, even if the settings are so short that intervals between its heartbeats count as silences.
func TestTheRecordedFactsDoNotDependOnTheSettings(t *testing.T) {
	for _, grace := range []time.Duration{10 * time.Second, 40 * time.Second} {
		s := newStory(3, 1)
		s.beats("node-1", 10, 70, 80, 90, 100)
		s.unknown(52, "node-1")
		s.ready(85, "node-1")
		s.beatsUntil(100, "node-2", "node-3")
		s.ends(100)
		a := s.predict(40*time.Second, grace, 50*time.Second)
		if a.Recorded.NodesUnknown != 1 || a.Recorded.NodesBack != 1 {
			t.Errorf("with %s: %+v", grace, a.Recorded)
		}
		if got := a.Settings[1].OutageSeconds; math.Abs(got.AtMost-20) > 3 {
			t.Errorf("with %s: %v s without a ready address with 50 s", grace, got)
		}
	}
}
