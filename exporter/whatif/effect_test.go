package whatif

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/whatif/answer"
)

func exactly(x float64) answer.Range { return answer.Range{AtLeast: x, AtMost: x} }

// lostAndBack returns a story in which node-1 is silent from 10 s to 70 s, and the controller sets it to Unknown at 52
// s. Its pod is the only one of the Service, so the outage lasts from 52.1 s to 75.1 s.
func lostAndBack() *story {
	s := newStory(3, 1)
	s.pods["node-1"].ToleratesUnreachable.Seconds = 300
	s.beats("node-1", 10, 70, 80, 90, 100)
	s.unknown(52, "node-1")
	s.ready(75, "node-1")
	s.beatsUntil(100, "node-2", "node-3")
	s.ends(100)
	return s
}

func TestALongerGracePeriodAvoidsTheLoss(t *testing.T) {
	a := lostAndBack().predict(40*time.Second, 20*time.Second, 40*time.Second, 60*time.Second)
	want := answer.Recorded{GracePeriodSeconds: 40, MonitorPeriodSeconds: 5, Certain: true, NodesUnknown: 1, NodesBack: 1, AddressesLost: 1, Outages: 1, OutageSeconds: 23}
	if a.Recorded != want {
		t.Errorf("recorded: %+v, want %+v", a.Recorded, want)
	}
	if *a.Check != (answer.Check{Right: 1}) {
		t.Errorf("check: %+v", *a.Check)
	}
	// With a grace period of 20 s, Unknown is expected at 10 + 20 + 5 s plus half a monitor period. The pod is back at
	// 75 s, as recorded.
	for i, want := range []answer.Row{
		{NodesUnknown: exactly(1), Needless: exactly(1), NodesBack: exactly(1), AddressesLost: exactly(1), NeedlessLosses: exactly(1), Outages: exactly(1), OutageSeconds: exactly(42)},
		{NodesUnknown: exactly(1), Needless: exactly(1), NodesBack: exactly(1), AddressesLost: exactly(1), NeedlessLosses: exactly(1), Outages: exactly(1), OutageSeconds: exactly(23), Recorded: true},
		{},
	} {
		got := a.Settings[i]
		if i == 2 && got.Transitions[0].Predicted != answer.TooClose {
			t.Errorf("60 s: %+v", got.Transitions)
		}
		if i == 2 {
			continue
		}
		if got.NodesUnknown != want.NodesUnknown || got.Needless != want.Needless || got.NodesBack != want.NodesBack || got.AddressesLost != want.AddressesLost ||
			got.NeedlessLosses != want.NeedlessLosses || got.Outages != want.Outages || (got.OutageSeconds.AtMost-want.OutageSeconds.AtMost) > 0.5 ||
			(got.OutageSeconds.AtMost-want.OutageSeconds.AtMost) < -0.5 || got.Recorded != want.Recorded || got.Knee != want.Knee {
			t.Errorf("%v s: %+v, want %+v", got.GracePeriodSeconds, got, want)
		}
	}
	a = lostAndBack().predict(40*time.Second, 65*time.Second, 90*time.Second)
	for i, got := range a.Settings {
		if got.NodesUnknown != (answer.Range{}) || got.AddressesLost != (answer.Range{}) || got.OutageSeconds != (answer.Range{}) || got.Knee {
			t.Errorf("row %d: %+v", i, got)
		}
	}
}

// TestTheAddressIsSeenBeforeThePod checks that a lost address is attributed to the mark even if the slice's event
// arrives before the pod's.
func TestTheAddressIsSeenBeforeThePod(t *testing.T) {
	s := newStory(2, 1)
	s.beats("node-1", 10, 70, 80, 90, 100)
	s.beatsUntil(100, "node-2")
	p := s.pods["node-1"]
	s.rotate(51.9, p, false)
	s.unknown(52, "node-1")
	s.rotate(74.9, p, true)
	s.ready(75, "node-1")
	s.ends(100)
	a := s.predict(40*time.Second, 90*time.Second)
	if got := a.Settings[0]; got.AddressesLost != (answer.Range{}) || a.Recorded.AddressesLost != 1 {
		t.Errorf("%+v, recorded %+v", got, a.Recorded)
	}
}

// TestLossesOfOtherCausesStay checks that the grace period does not affect losses with other causes.
func TestLossesOfOtherCausesStay(t *testing.T) {
	s := lostAndBack()
	p := s.pods["node-1"]
	p.Ready = &event.Condition{Status: event.StatusFalse, Reason: "ContainersNotReady"}
	s.add(90, event.Modified, p)
	s.rotate(90.1, p, false)
	if got := s.predict(40*time.Second, 90*time.Second).Settings[0]; got.AddressesLost != exactly(1) || got.NeedlessLosses != (answer.Range{}) || got.OutageSeconds.AtMost != 9.9 {
		t.Errorf("%+v", got)
	}
}

// TestTheCostOfALongGracePeriod checks that a longer grace period detects a failed node later, so that it receives
// traffic for longer.
func TestTheCostOfALongGracePeriod(t *testing.T) {
	s := newStory(3, 2)
	s.beats("node-1", 10)
	s.unknown(52, "node-1")
	s.beatsUntil(400, "node-2", "node-3")
	s.ends(400)
	a := s.predict(40*time.Second, 20*time.Second, 40*time.Second, 90*time.Second)
	for i, want := range []struct{ found, traffic float64 }{{25.5, 23}, {42, 42}, {95.9, 93.4}} {
		got := a.Settings[i]
		if got.FailuresFound != 1 || got.FoundAfterSeconds != want.found || got.TrafficSeconds != exactly(want.traffic) || got.Needless != (answer.Range{}) || got.Outages != (answer.Range{}) {
			t.Errorf("%v s: %+v, want %+v", got.GracePeriodSeconds, got, want)
		}
	}
	var out strings.Builder
	answer.WriteText(&out, a, "x.jsonl")
	for _, want := range []string{" <25.5s ", " 42s ", " <95.9s "} { // 42 s is recorded
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %q", out.String(), want)
		}
	}
	if !a.Settings[0].Knee {
		t.Error("the shortest grace period finds the failure first, and nothing is gained with a longer one")
	}
}

func TestEvictions(t *testing.T) {
	// The pod tolerates an unreachable node for 30 s. The node returns at 105 s.
	s := newStory(3, 1)
	s.beats("node-1", 10, 100, 110)
	s.unknown(52, "node-1")
	s.ready(105, "node-1")
	s.beatsUntil(120, "node-2", "node-3")
	s.ends(120)
	settings := func(grace, toleration time.Duration) Settings {
		return Settings{GracePeriod: grace, MonitorPeriod: DefaultMonitorPeriod, Toleration: toleration}
	}
	a := s.predictAll(40*time.Second, settings(20*time.Second, AsRecorded), settings(20*time.Second, 300*time.Second), settings(45*time.Second, AsRecorded),
		settings(60*time.Second, 40*time.Second), settings(60*time.Second, 0), settings(100*time.Second, 0))
	for i, want := range []answer.Range{exactly(1), {}, exactly(1), {AtMost: 1}, exactly(1), {}} {
		if got := a.Settings[i]; got.Evictions != want || got.NeedlessEvictions != want {
			t.Errorf("%v s, %v: evictions %+v, needless %+v, want %+v", got.GracePeriodSeconds, got.TolerationSeconds, got.Evictions, got.NeedlessEvictions, want)
		}
	}
	// If three of five nodes are Unknown, the controller sets no taints in that zone.
	many := newStory(5, 1)
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		many.beats(node, 10, 100, 110)
	}
	many.beatsUntil(120, "node-4", "node-5")
	many.ends(120)
	if got := many.predictAll(40*time.Second, settings(20*time.Second, AsRecorded)).Settings[0]; got.NodesUnknown != exactly(3) || got.Evictions.AtMost != 1 {
		t.Errorf("an unhealthy zone: %+v", got)
	}
	s.pods["node-1"].ToleratesUnreachable.Forever = true
	if got := s.predictAll(40*time.Second, settings(20*time.Second, 0)).Settings[0].Evictions; got != (answer.Range{}) {
		t.Errorf("a DaemonSet's pod: %+v", got)
	}
}

// TestBatchingWindows checks that a client that batches for 10 s misses an address that leaves and returns within 10 s.
func TestBatchingWindows(t *testing.T) {
	s := newStory(2, 1)
	s.beatsUntil(100, "node-1", "node-2")
	for i, ready := range []bool{false, true, false, true} {
		s.rotate(20+float64(i)*1.5, s.pods["node-1"], ready)
	}
	s.ends(100)
	x := Settings{GracePeriod: 40 * time.Second, MonitorPeriod: DefaultMonitorPeriod, Toleration: AsRecorded}
	long := x
	long.Window = 10 * time.Second
	a := s.predictAll(0, x, long)
	if got := a.Settings[0]; got.ClientUpdates != exactly(4) || got.ClientBounces != exactly(1) || got.Knee {
		t.Errorf("%+v", got)
	}
	if got := a.Settings[1]; got.ClientUpdates != (answer.Range{}) || got.ClientBounces != (answer.Range{}) || !got.Knee {
		t.Errorf("%+v", got)
	}
}

func TestTheTable(t *testing.T) {
	var out strings.Builder
	answer.WriteText(&out, lostAndBack().predict(40*time.Second, 20*time.Second, 40*time.Second, 65*time.Second), "x.jsonl")
	for _, want := range []string{
		"Recorded with a grace period of 40s and a monitor period of 5s:\n",
		"  1 transition to Unknown and 1 back, 1 address lost, 1 outage of 23 s, 0 evictions.\n",
		"   65s        0         0          0        0        0         -          0s  knee\n",
		"\nKnee: grace period 65s. ",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %q", out.String(), want)
		}
	}
	out.Reset()
	answer.WriteText(&out, lostAndBack().predict(0, 20*time.Second, 65*time.Second), "x.jsonl")
	for _, want := range []string{
		"Recorded with a grace period of 50s (assumed) and", "   20s      0-1 ", "- The exact grace period during the recording. To specify it, set --recorded-grace-period.\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s\nlacks %q", out.String(), want)
		}
	}
	out.Reset()
	manager := lostAndBack()
	manager.add(0.1, event.Added, &event.Pod{
		Meta: event.Meta{UID: event.UID{77}, Namespace: "kube-system", Name: "kube-controller-manager-1"}, Ready: &event.Condition{}, Phase: "Running",
		ControllerManager: &event.ControllerManager{GracePeriod: 24 * time.Second},
	})
	answer.WriteText(&out, manager.predict(40*time.Second, 40*time.Second), "x.jsonl")
	if want := "\n  Warning: the grace period was specified as 40s, but the recorded kube-controller-manager has 24s.\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%s\nlacks %q", out.String(), want)
	}
	for line := range strings.Lines(out.String()) {
		if len(line) > 101 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}

// TestNoPrediction checks that there is no table if the recording has no nodes, or if it is too short for any silence.
func TestNoPrediction(t *testing.T) {
	withoutNodes := lostAndBack()
	withoutNodes.events = slices.DeleteFunc(withoutNodes.events, func(e event.Event) bool { return e.Kind == event.KindNode || e.Kind == event.KindLease })
	short := newStory(2, 1)
	short.ends(10)
	for want, s := range map[string]*story{
		"the recording has no heartbeats of nodes":                                       withoutNodes,
		"the recording is too short: it covers 10s, and nodes send heartbeats every 10s": short,
	} {
		given := s.predict(40*time.Second, 20*time.Second, 60*time.Second)
		if given.NoPrediction != want || len(given.Settings) > 0 {
			t.Errorf("%+v, want %q", given, want)
		}
		var out strings.Builder
		answer.WriteText(&out, given, "x.jsonl")
		if text := out.String(); !strings.HasSuffix(text, ".\nThere is no prediction for other settings: "+want+".\n") || strings.Count(text, "\n") != 2 {
			t.Error(text)
		}
	}
}

// TestEvictionsBeforeTheRecording checks that a pod that is already terminating in the first list does not count.
func TestEvictionsBeforeTheRecording(t *testing.T) {
	s := newStory(3, 2)
	for i, e := range s.events {
		if p, ok := e.Object.(*event.Pod); ok && p.Node == "node-1" {
			p.Disruption, p.DeletionTimestamp = evictedByTaint, at(10)
			s.events[i].Object = p
		}
	}
	p := s.pods["node-2"]
	p.Disruption, p.DeletionTimestamp = evictedByTaint, at(60)
	s.add(30, event.Modified, p)
	s.beatsUntil(60, "node-1", "node-2", "node-3")
	s.ends(60)
	if got := s.predict(40*time.Second, 40*time.Second); got.Recorded.Evictions != 1 || got.Settings[0].Evictions != exactly(1) {
		t.Errorf("%+v", got)
	}
}

// TestTheFlagForTheRecordedGracePeriodExists checks that the page, whose settings are the usual ones, names a flag that
// kubeflap run has.
func TestTheFlagForTheRecordedGracePeriodExists(t *testing.T) {
	for want, study := range map[string]*Study{"set --recorded-grace-period.": New(nil, 0), "set kubeflap's --node-monitor-grace-period.": NewUsual(0)} {
		if all := strings.Join(study.cannotSay(false), " "); !strings.Contains(all, want) {
			t.Errorf("%s\nlacks %q", all, want)
		}
	}
}

// TestTheKneeIgnoresFailedNodes checks that only needless bounces and outages count. A node that reboots is silent from
// 10 s to 100 s. Its pod is not ready from 105 s to 110 s. With short grace periods, the pod's address leaves twice.
func TestTheKneeIgnoresFailedNodes(t *testing.T) {
	s := newStory(3, 1)
	s.pods["node-1"].ToleratesUnreachable.Seconds = 300
	n, p := s.nodes["node-1"], s.pods["node-1"]
	n.BootID = "a"
	s.add(0.1, event.Modified, n)
	s.beats("node-1", 10, 100, 110, 120)
	n.BootID, n.Ready.LastHeartbeatTime = "b", at(100.5)
	s.add(100.5, event.Modified, n)
	s.rotate(105, p, false)
	s.rotate(110, p, true)
	s.beatsUntil(120, "node-2", "node-3")
	s.ends(120)
	a := s.predict(200*time.Second, 20*time.Second, 60*time.Second, 87*time.Second, 200*time.Second)
	// With 87 s, it is open whether the node turns Unknown. If not, the address is in rotation for the whole silence of
	// 90 s.
	if got := a.Settings[2]; got.NodesUnknown != (answer.Range{AtMost: 1}) || got.TrafficSeconds != (answer.Range{AtLeast: 89.9, AtMost: 90}) {
		t.Errorf("%+v", got)
	}
	if got := a.Settings[0]; !got.Knee || got.ClientBounces != exactly(1) || got.NeedlessBounces != (answer.Range{}) || got.NeedlessOutageSeconds != exactly(5) {
		t.Errorf("%+v", got)
	}
}

// TestTheKneeCountsOutages checks that fewer evictions are no gain if the Services are without a ready address for
// longer.
func TestTheKneeCountsOutages(t *testing.T) {
	var all []Settings
	for _, toleration := range []time.Duration{5 * time.Second, 300 * time.Second} {
		all = append(all, Settings{GracePeriod: 40 * time.Second, MonitorPeriod: DefaultMonitorPeriod, Toleration: toleration})
	}
	for _, row := range evictedAndReplaced().predictAll(40*time.Second, all...).Settings {
		if row.Knee {
			t.Errorf("%+v", row)
		}
	}
}
