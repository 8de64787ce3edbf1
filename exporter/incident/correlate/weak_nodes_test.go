package correlate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// silenceOf is a period without heartbeats of a node, in seconds.
type silenceOf struct {
	node     int
	from, to float64
}

// weakened returns random silences of some nodes in some hours. On average, each node is silent once in `every` seconds.
func weakened(r *rand.Rand, every, hours float64, nodes ...int) (all []silenceOf) {
	for _, n := range nodes {
		for at := r.ExpFloat64() * every; at < hours*3600; at += 60 + r.ExpFloat64()*every {
			all = append(all, silenceOf{n, math.Round(at), math.Round(at) + 43 + float64(r.IntN(16))})
		}
	}
	return all
}

// stalled returns silences of nodes that begin and end together.
func stalled(r *rand.Rand, at float64, nodes ...int) (all []silenceOf) {
	for _, n := range nodes {
		all = append(all, silenceOf{n, at - float64(r.IntN(10)), at + 60})
	}
	return all
}

// someNodes returns different nodes, none of which is one of the others.
func someNodes(r *rand.Rand, n, of int, others ...int) (some []int) {
	for len(some) < n {
		if i := r.IntN(of); !slices.Contains(some, i) && !slices.Contains(others, i) {
			some = append(some, i)
		}
	}
	return some
}

// shared returns the incidents with the verdict shared_path, with their nodes, of a cluster in which silences happen. It
// leaves out what ended in the first hour, when the weak nodes are not known yet.
func shared(nodes int, all []silenceOf) (found []string) {
	l := New(1000)
	at := func(second float64, n int) transition.OfNode {
		return transition.OfNode{At: transition.At{Time: zero.Add(seconds(second))}, Node: fmt.Sprintf("node-%d", n)}
	}
	l.Observe(transition.HeartbeatSeen{OfNode: at(0, 0), Interval: 10 * time.Second})
	l.Observe(transition.GracePeriodKnown{At: at(0, 0).At, Period: 40 * time.Second, Default: 40 * time.Second, Interval: 10 * time.Second, Nodes: nodes})
	var steps []transition.Transition
	for _, s := range all {
		loss := transition.NodeLoss{GracePeriod: 40 * time.Second, NodeFacts: transition.NodeFacts{MarkedAge: 42 * time.Second}, Renewed: zero.Add(seconds(s.from))}
		steps = append(steps,
			transition.HeartbeatSeen{OfNode: at(s.from, s.node), Interval: 10 * time.Second},
			transition.HeartbeatLate{OfNode: at(s.from+20, s.node), Silence: 20 * time.Second},
			transition.HeartbeatMissed{OfNode: at(s.from+40, s.node), Silence: 40 * time.Second, Loss: loss},
			transition.NodeReadyChanged{OfNode: at(s.from+42, s.node), From: event.StatusTrue, To: event.StatusUnknown, Silence: 42 * time.Second, Loss: loss},
			transition.HeartbeatSeen{OfNode: at(s.to, s.node), Interval: seconds(s.to - s.from)},
			transition.NodeReadyChanged{OfNode: at(s.to+0.5, s.node), From: event.StatusUnknown, To: event.StatusTrue})
	}
	slices.SortStableFunc(steps, func(a, b transition.Transition) int { return a.FoundAt().Compare(b.FoundAt()) })
	l.Observe(steps...)
	for _, x := range l.Incidents(steps[len(steps)-1].FoundAt().Add(time.Hour)) {
		if end := x.End.Sub(zero); x.Verdict == verdict.SharedPath && end > time.Hour {
			found = append(found, fmt.Sprintf("%s until %s", strings.Join(x.Nodes, " "), end.Round(time.Minute)))
		}
	}
	return found
}

// TestWeakNodesShareNoPath checks that nodes that fall silent again and again, each by itself, have no common cause if they
// coincide by chance, and that stalls among them are seen, even if they repeat.
func TestWeakNodesShareNoPath(t *testing.T) {
	for i, c := range []struct {
		nodes, weak int
		// On average, a weak node is silent once in so many seconds.
		every, hours float64
	}{
		{500, 12, 300, 3}, {500, 12, 600, 4}, {500, 12, 1800, 8}, {500, 12, 3600, 12}, {500, 6, 120, 2}, {120, 12, 600, 4}, {5000, 40, 3600, 3}, {100, 3, 200, 4},
	} {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		weak := someNodes(r, c.weak, c.nodes)
		all := weakened(r, c.every, c.hours, weak...)
		if found := shared(c.nodes, all); len(found) > 0 {
			t.Errorf("%v: %q", c, found)
		}
		healthy := someNodes(r, 6, c.nodes, weak...)
		for stall := range 3 {
			all = append(all, stalled(r, c.hours*3600+1200*float64(stall), healthy...)...)
		}
		found := shared(c.nodes, all)
		for _, names := range found {
			if strings.Count(names, "node-") < len(healthy) {
				t.Errorf("%v with three stalls: %s", c, names)
			}
		}
		if len(found) != 3 {
			t.Errorf("%v with three stalls: %q", c, found)
		}
	}
}
