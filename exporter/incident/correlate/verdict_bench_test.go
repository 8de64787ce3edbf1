package correlate

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// BenchmarkVerdicts measures the cost of incidents and their verdicts per event in a cluster of 1,000 nodes. The goal
// is at most 2 µs.
//
// In "troubled", every hundredth heartbeat is missed, so ten nodes are silent at any time. All verdicts are then
// reviewed up to once every 5 s. In "stalled", all nodes repeatedly fall silent for a minute. In "late", they fall
// silent but return within the grace period.
func BenchmarkVerdicts(b *testing.B) {
	const nodes = 1000
	for _, c := range []struct {
		name string
		// isSilent reports whether a node sends no heartbeat in the given round of 10 s.
		isSilent func(node, round int) bool
	}{
		{"healthy", func(int, int) bool { return false }},
		{"troubled", func(node, round int) bool { return (node*7+round/6)%100 == 0 }},
		{"stalled", func(_, round int) bool { return round%60 >= 54 }},
		{"late", func(_, round int) bool { return round%60 >= 57 }},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := New(500)
			names := make([]string, nodes)
			last := make([]time.Time, nodes)
			late, missed := make([]bool, nodes), make([]bool, nodes)
			for i := range names {
				names[i], last[i] = fmt.Sprintf("node-%d", i), zero
			}
			now, i, round := zero, 0, 0
			for b.Loop() {
				if i++; i == nodes {
					i, round = 0, round+1
				}
				now = now.Add(10 * time.Second / nodes)
				at := transition.At{Time: now}
				switch silence := now.Sub(last[i]); {
				case !c.isSilent(i, round):
					l.Observe(transition.HeartbeatSeen{OfNode: transition.OfNode{At: at, Node: names[i]}, Interval: silence})
					if missed[i] {
						l.Observe(transition.NodeReadyChanged{OfNode: transition.OfNode{At: at, Node: names[i]}, From: event.StatusUnknown, To: event.StatusTrue})
					}
					last[i], late[i], missed[i] = now, false, false
				case silence > 20*time.Second && !late[i]:
					late[i] = true
					l.Observe(transition.HeartbeatLate{OfNode: transition.OfNode{At: at, Node: names[i]}, Silence: 20 * time.Second})
				case silence > 40*time.Second && !missed[i]:
					missed[i] = true
					loss := transition.NodeLoss{GracePeriod: 40 * time.Second, NodeFacts: transition.NodeFacts{MarkedAge: silence}, Renewed: last[i]}
					l.Observe(transition.HeartbeatMissed{OfNode: transition.OfNode{At: at, Node: names[i]}, Silence: 40 * time.Second, Loss: loss})
					l.Observe(transition.NodeReadyChanged{OfNode: transition.OfNode{At: at, Node: names[i]}, From: event.StatusTrue, To: event.StatusUnknown, Silence: silence, Loss: loss})
				}
			}
		})
	}
}
