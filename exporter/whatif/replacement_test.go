package whatif

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

// evictedAndReplaced returns a story in which node-1 is silent from 10 s to 100 s, and the controller sets it to
// Unknown at 52 s. Its pod, the only one of the Service, tolerates this for 5 s. It is evicted at 57 s, and another pod
// on node-2 is ready at 59 s. The outage lasts from 52.1 s to 59.1 s. The node is Ready at 103 s, and its pods would be
// at 105 s.
func evictedAndReplaced() *story {
	s := newStory(3, 1)
	old := s.pods["node-1"]
	old.Owner, old.ToleratesUnreachable = "ReplicaSet/web", &event.Toleration{Seconds: 5}
	s.add(0.1, event.Modified, old)
	other := *old // it shows when the kubelet reverts the marks
	other.UID, other.Name, other.Owner, other.ToleratesUnreachable = event.UID{9}, "other", "DaemonSet/other", &event.Toleration{Forever: true}
	s.pods["other"] = &other
	s.add(0.1, event.Added, &other)
	s.beats("node-1", 10, 100, 110, 120)
	s.beatsUntil(120, "node-2", "node-3")
	s.unknown(52, "node-1")
	s.podIs(52, "other", event.StatusFalse)
	old.Disruption, old.DeletionTimestamp = evictedByTaint, at(87)
	s.add(57, event.Modified, old)
	s.replace(57, 59, old)
	n := s.nodes["node-1"]
	n.Ready.Status, n.Ready.LastHeartbeatTime = event.StatusTrue, at(103)
	s.add(103, event.Modified, n)
	s.podIs(105, "other", event.StatusTrue)
	s.add(106, event.Deleted, old)
	s.slice.Addresses = s.slice.Addresses[1:]
	s.add(106.1, event.Modified, &s.slice)
	s.ends(120)
	return s
}

// replace adds a pod in the place of an evicted one, whose address is terminating from then on.
func (s *story) replace(created, ready float64, old *event.Pod) {
	s.slice.Addresses[0].Terminating = true
	s.add(created+0.1, event.Modified, &s.slice)
	pod := &event.Pod{
		Meta: event.Meta{UID: event.UID{50}, Namespace: old.Namespace, Name: "replacement"}, Node: "node-2", Owner: old.Owner, Phase: "Running",
		Ready: &event.Condition{Status: event.StatusFalse, Reason: "ContainersNotReady"}, ToleratesUnreachable: old.ToleratesUnreachable,
	}
	s.pods["replacement"] = pod
	s.add(created+0.1, event.Added, pod)
	pod.Ready.Reason = ""
	s.podIs(ready, "replacement", event.StatusTrue)
	s.slice.Addresses = append(s.slice.Addresses, event.Address{UID: pod.UID, IP: "replacement", Node: "node-2", Ready: true})
	s.add(ready+0.1, event.Modified, &s.slice)
}

func (s *story) podIs(t float64, name string, status event.Status) {
	p := s.pods[name]
	p.Ready.Status, p.ContainersReady = status, event.StatusTrue
	s.add(t, event.Modified, p)
}

// TestEvictedPodsWithOtherSettings checks that an address is kept if nothing evicts its pod, and otherwise leaves until
// another pod is ready.
func TestEvictedPodsWithOtherSettings(t *testing.T) {
	for name, c := range map[string]struct {
		grace, toleration     time.Duration
		lost, outage, evicted answer.Range
	}{
		"the recorded settings": {40 * time.Second, AsRecorded, exactly(1), exactly(7), exactly(1)},
		// The toleration takes 5 s. The eviction takes at most 2 s, and the replacement at most 2 s, as recorded.
		"a shorter grace period": {20 * time.Second, AsRecorded, exactly(1), answer.Range{AtLeast: 5, AtMost: 9}, exactly(1)},
		"a longer grace period":  {60 * time.Second, AsRecorded, exactly(1), answer.Range{AtLeast: 5, AtMost: 9}, exactly(1)},
		"the same toleration":    {40 * time.Second, 5 * time.Second, exactly(1), answer.Range{AtLeast: 5, AtMost: 9}, exactly(1)},
		// Nothing evicts the pod, so it is back at 105 s, and there is no replacement.
		"a longer toleration": {40 * time.Second, 300 * time.Second, exactly(1), exactly(53), answer.Range{}},
		"no mark":             {110 * time.Second, AsRecorded, answer.Range{}, answer.Range{}, answer.Range{}},
	} {
		x := Settings{GracePeriod: c.grace, MonitorPeriod: DefaultMonitorPeriod, Toleration: c.toleration}
		got := evictedAndReplaced().predictAll(40*time.Second, x).Settings[0]
		if got.AddressesLost != c.lost || got.OutageSeconds != c.outage || got.Evictions != c.evicted {
			t.Errorf("%s: lost %+v, outage %+v, evicted %+v; want %+v, %+v, %+v", name, got.AddressesLost, got.OutageSeconds, got.Evictions, c.lost, c.outage, c.evicted)
		}
	}
}

// TestTheEndOfAKeptAddress checks that a pod that is not evicted ends when its replacement does in the recording, and
// that nothing is kept in a Service that is deleted.
func TestTheEndOfAKeptAddress(t *testing.T) {
	x := Settings{GracePeriod: 110 * time.Second, MonitorPeriod: DefaultMonitorPeriod, Toleration: AsRecorded}
	s := evictedAndReplaced()
	s.add(115, event.Deleted, s.pods["replacement"])
	if got := s.predictAll(40*time.Second, x).Settings[0]; got.AddressesLost != exactly(1) || got.OutageSeconds != exactly(5) {
		t.Errorf("the replacement is deleted: %+v", got)
	}
	s = evictedAndReplaced()
	s.add(115, event.Deleted, &event.Service{Meta: event.Meta{Namespace: "shop", Name: "web"}})
	s.add(116, event.Deleted, s.pods["replacement"])
	if got := s.predictAll(40*time.Second, x).Settings[0]; got.Outages != (answer.Range{}) {
		t.Errorf("the Service is deleted: %+v", got)
	}
}

// TestEvictionsThatTheRecordingDoesNotShow checks that the outage ends after the toleration at the earliest. At the
// latest, it ends when the node is back, because nothing in the recording shows how long a replacement takes.
func TestEvictionsThatTheRecordingDoesNotShow(t *testing.T) {
	for owner, want := range map[string]answer.Range{
		"ReplicaSet/web": {AtLeast: 5, AtMost: 23}, "StatefulSet/web": exactly(23), "": exactly(48), // nothing replaces a pod without an owner
	} {
		s := lostAndBack()
		for _, e := range s.events {
			if p, ok := e.Object.(*event.Pod); ok {
				p.Owner = owner
			}
		}
		x := Settings{GracePeriod: 40 * time.Second, MonitorPeriod: DefaultMonitorPeriod, Toleration: 5 * time.Second}
		if got := s.predictAll(40*time.Second, x).Settings[0]; got.OutageSeconds != want || got.AddressesLost != exactly(1) {
			t.Errorf("%q: outage %+v, want %+v; lost %+v", owner, got.OutageSeconds, want, got.AddressesLost)
		}
	}
}
