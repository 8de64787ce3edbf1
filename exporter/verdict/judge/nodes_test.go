package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var zero = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(s float64) time.Time { return zero.Add(time.Duration(s * float64(time.Second))) }

// silent returns silences of different nodes that began at the given seconds.
func silent(began ...float64) (all silence.List) {
	for i, s := range began {
		all = append(all, &silence.Silence{Node: fmt.Sprintf("node-%d", i+1), Began: at(s)})
	}
	return all
}

// back ends each silence after a number of seconds. The last number applies to all further silences.
func back(all silence.List, after ...float64) silence.List {
	for i := range all {
		all[i].Ended = all[i].Began.Add(time.Duration(after[min(i, len(after)-1)] * float64(time.Second)))
	}
	return all
}

func loss(nodes int, all silence.List) *NodeLoss {
	return &NodeLoss{Silences: all, Recent: all, Now: at(3000), Nodes: nodes, GracePeriod: 40 * time.Second, Interval: 11500 * time.Millisecond, Observed: time.Hour}
}

func change(all silence.List, how func(*silence.Silence)) silence.List {
	for i := range all {
		how(all[i])
	}
	return all
}

func TestVerdictsOfNodes(t *testing.T) {
	inTurn := silent(0, 300, 700, 1100, 1500, 1900, 2300, 2700)
	cases := []struct {
		name string
		loss *NodeLoss
		want verdict.Verdict
	}{
		{"one node of nine", loss(9, silent(0)), verdict.Node},
		{"three of nine within 10 s, still silent", loss(9, silent(0, 4, 9)), verdict.SharedPath},
		{"eight of nine one after the other within an hour", loss(9, inTurn), verdict.SharedPath},
		{"two of twenty within 10 s, still silent", loss(20, silent(0, 5)), verdict.Undecided},
		{"two of twenty within 10 s, back together", loss(20, back(silent(0, 5), 60, 58)), verdict.SharedPath},
		{"two of twenty within 10 s, back far apart", loss(20, back(silent(0, 5), 60, 900)), verdict.Node},
		{"two slow kubelets on one day", loss(20, silent(0)[:1]), verdict.Node},
		{"three of nine, minutes apart", loss(9, silent(0, 200, 500)[:1]), verdict.Node},
		{"marked although the Lease was in time", loss(9, back(change(silent(0), func(s *silence.Silence) { s.Marked, s.MarkedAge, s.MarkedInTime = true, 12*time.Second, true }), 19)), verdict.ControllerManager},
		{"marked although the Lease was in time, and not back since", loss(9, change(silent(0), func(s *silence.Silence) { s.Marked, s.MarkedAge, s.MarkedInTime = true, 12*time.Second, true })), verdict.Node},
		{"marked after the grace period", loss(9, change(silent(0), func(s *silence.Silence) { s.Marked, s.MarkedAge = true, 43*time.Second })), verdict.Node},
		{"rebooted", loss(9, back(change(silent(0), func(s *silence.Silence) { s.Rebooted = true }), 80)), verdict.NodeRebooted},
		{"a host takes three nodes down", loss(9, back(change(silent(0, 1, 2), func(s *silence.Silence) { s.Rebooted = true }), 80)), verdict.NodeRebooted},
		{"announced by a taint", loss(9, change(silent(0), func(s *silence.Silence) { s.Announced = "the taint x" })), verdict.Planned},
		{"four removed by an autoscaler", loss(9, change(silent(0, 1, 2, 3), func(s *silence.Silence) { s.Announced = "the taint x" })), verdict.Planned},
		{"deleted without an announcement", loss(9, change(silent(0), func(s *silence.Silence) { s.Deleted = s.Began.Add(10 * time.Minute) })), verdict.Undecided},
		{"deleted 11 minutes later", loss(9, change(silent(0), func(s *silence.Silence) { s.Deleted = s.Began.Add(11 * time.Minute) })), verdict.Node},
	}
	short := loss(9, back(silent(0), 10.2))
	short.GracePeriod = 10 * time.Second
	slow := loss(9, back(silent(0), 31))
	slow.GracePeriod = 10 * time.Second
	blind := loss(9, change(silent(0), func(s *silence.Silence) { s.Blind = true }))
	partly := loss(9, silent(0, 900))
	partly.Silences[0].Blind = true
	began := loss(9, change(silent(0, 0, 0), func(s *silence.Silence) { s.BeganBlind = true }))
	ended := loss(20, change(back(silent(0, 5), 60, 900), func(s *silence.Silence) { s.EndedBlind = true }))
	broken := loss(9, silent(0))
	broken.Break = Break{From: at(5)}
	caughtUp := loss(9, silent(0))
	caughtUp.Break = Break{at(5), at(100)}
	late := loss(9, silent(0))
	late.Late = silence.List{{Node: "node-2", Began: at(4)}}
	earlier := loss(9, silent(0))
	earlier.Late = silence.List{{Node: "node-2", Began: at(-30)}}
	young := loss(3, silent(0, 0.1, 0.2))
	young.GracePeriod, young.Now = 10*time.Second, at(10.3)
	// Three of the five nodes that fell silent within the hour share a cause.
	day := silent(0, 60, 120, 124, 129)
	afterZone, theZone := loss(9, day), loss(9, day)
	afterZone.Silences, theZone.Silences = day[:1], day[2:]
	cases = append(cases, []struct {
		name string
		loss *NodeLoss
		want verdict.Verdict
	}{
		{"a grace period of 10 s and heartbeats on time", short, verdict.GracePeriod},
		{"a grace period of 10 s and a slow kubelet", slow, verdict.Node},
		{"kubeflap was blind", blind, verdict.Undecided},
		{"kubeflap was blind in one silence, and another one is proven", partly, verdict.Node},
		{"three fell silent while kubeflap was blind: together or not", began, verdict.Undecided},
		{"two of twenty within 10 s, and kubeflap was blind when they came back", ended, verdict.Undecided},
		{"the watch broke before others would be late", broken, verdict.Undecided},
		{"it has caught up since", caughtUp, verdict.Node},
		{"another node became late with it", late, verdict.Undecided},
		{"another node became late long before", earlier, verdict.Node},
		{"three renewals in flight at a grace period of 10 s", young, verdict.GracePeriod},
		{"a slow kubelet on the day on which a zone is cut off", afterZone, verdict.Node},
		{"the zone on the day of two slow kubelets", theZone, verdict.SharedPath},
	}...)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := OfNodes(c.loss)
			if d.Verdict != c.want {
				t.Errorf("%s, want %s: %v", d.Verdict, c.want, d.Considered)
			}
			if len(d.Considered) != len(nodeHypotheses) {
				t.Errorf("%d hypotheses were considered, want %d", len(d.Considered), len(nodeHypotheses))
			}
			for _, x := range d.Considered {
				if x.Because == "" {
					t.Errorf("%s: no fact decides", x.Verdict)
				}
			}
			if (d.Command != "") != (d.Verdict == verdict.Undecided) {
				t.Errorf("command %q with the verdict %s", d.Command, d.Verdict)
			}
		})
	}
}

// onPath returns the reason for the answer about the shared path.
func onPath(f *NodeLoss) string {
	return weighAll(f).shared.how
}

func TestWhatSilentNodesShareIsNamed(t *testing.T) {
	zone := func(value string, nodes int) transition.NodeLabel {
		return transition.NodeLabel{Key: "topology.kubernetes.io/zone", Value: value, Nodes: nodes}
	}
	pool := transition.NodeLabel{Key: "pool", Value: "blue", Nodes: 9}
	for _, c := range []struct {
		labels [][]transition.NodeLabel
		want   string
	}{
		{[][]transition.NodeLabel{{zone("a", 3), pool}, {zone("a", 3), pool}, {zone("a", 3), pool}}, "the only nodes with topology.kubernetes.io/zone=a"},
		{[][]transition.NodeLabel{{zone("a", 5), pool}, {zone("a", 5), pool}, {zone("a", 5), pool}}, "all have topology.kubernetes.io/zone=a, which 5 nodes have in total"},
		{[][]transition.NodeLabel{{zone("a", 5), pool}, {zone("b", 4), pool}, {zone("a", 5), pool}}, "no label distinguishes them"},
		{[][]transition.NodeLabel{nil, nil, nil}, "coincidence is very unlikely"},
		{[][]transition.NodeLabel{{zone("a", 2)}, {zone("b", 2)}, {zone("a", 2)}, {zone("b", 2)}}, "the only nodes with topology.kubernetes.io/zone=a and topology.kubernetes.io/zone=b"},
		{[][]transition.NodeLabel{{zone("a", 2)}, {zone("b", 3)}, {zone("a", 2)}, {zone("b", 3)}}, "no label distinguishes them"},
		{[][]transition.NodeLabel{{zone("a", 3)}, {zone("b", 1)}, {zone("a", 3)}, {pool}}, "no label distinguishes them"},
		{[][]transition.NodeLabel{{zone("a", 1)}, {zone("b", 1)}, {zone("c", 1)}}, "no label distinguishes them"},
	} {
		all := silent(0, 4, 9, 10)[:len(c.labels)]
		for i := range all {
			all[i].Labels = c.labels[i]
		}
		if because := onPath(loss(9, all)); !strings.Contains(because, c.want) {
			t.Errorf("%q, want %q in it", because, c.want)
		}
	}
}

func BenchmarkOfNodes(b *testing.B) {
	f := loss(5000, silent(0))
	for b.Loop() {
		OfNodes(f)
	}
}

// TestLeasesFromBeforeTheSilenceDoNotShowThatEtcdWorks checks that Leases renewed right before a stall do not prove
// that etcd works.
func TestLeasesFromBeforeTheSilenceDoNotShowThatEtcdWorks(t *testing.T) {
	for _, c := range []struct {
		shown float64
		want  bool
	}{{8, false}, {30, true}} {
		f := loss(4, silent(0, 1, 2, 3))
		f.ControlPlane.AsOf = transition.ControlPlane{Time: at(24), NewestRenewalSeen: at(c.shown), APIServers: 1}
		if c.shown > 24 {
			f.ControlPlane.AsOf.Time = at(c.shown)
		}
		if because := onPath(f); strings.Contains(because, "etcd accepted writes") != c.want {
			t.Errorf("a Lease was renewed %v s after the first silence began: %q", c.shown, because)
		}
	}
}

// TestNodesAreCountedOnce checks that a reason counts nodes, even if each of them was silent several times.
func TestNodesAreCountedOnce(t *testing.T) {
	again := slices.Concat(silent(0, 1), silent(300, 301), silent(600, 601))
	early := loss(5, back(change(again, func(s *silence.Silence) { s.Marked, s.MarkedAge, s.MarkedInTime = true, 12*time.Second, true }), 13))
	early.Interval = 20 * time.Second
	few := loss(1, back(silent(0, 1), 60))
	few.Late = nil
	for want, f := range map[string]*NodeLoss{
		"set 2 nodes to Unknown": early,
		"2 nodes fell silent":    few, // one of them has been deleted since
		"no node fell silent":    loss(5, nil),
	} {
		var all []string
		for _, h := range OfNodes(f).Considered {
			all = append(all, h.Because)
		}
		if text := strings.Join(all, "\n"); !strings.Contains(text, want) || strings.Contains(text, "the nodes") {
			t.Errorf("no reason says %q:\n%s", want, text)
		}
	}
}
