package scenario

import (
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// inTurnApart is the minimum time between the last heartbeats of two nodes. If it were 11.5 s or less, kubeflap would
// treat the two nodes as silent together.
const inTurnApart = 12500 * time.Millisecond

// nodeAfterNode makes 8 of 9 nodes silent one after another, as if a shared component failed. No two nodes fall silent
// together.
func nodeAfterNode() Scenario {
	const nodes, victims = 9, 8
	return Scenario{
		Name:    "node-after-node",
		Summary: "8 of 9 nodes fall silent one after the other, no two at the same time",
		Extra:   true,
		Reports: []Report{
			{"shared_path", "control_plane", "node_heartbeat_lost", "control plane", "8 nodes fell silent one after another within an hour", "etcd"},
		},
		// A few silent nodes may be a coincidence, so each of the first nodes has its own alert.
		Alerts: []Alert{
			lostAlert("", "etcd"),
			{Name: "KubeflapControlPlaneFault", Says: []string{"Verdict: shared path"}, Remedy: "etcd"},
		},
		Advised: []string{"control plane late"}, NotAdvised: []string{"nodes slow"},
		Options: graced(nodes),
		Run: func(l *Lab) {
			l.WaitForHeartbeats()
			silenceInTurn(l, victims)
		},
	}
}

// silenceInTurn pauses the given number of kubelets one after another. It pauses a kubelet right after a heartbeat, and
// resumes it when its node is Unknown.
func silenceInTurn(l *Lab, victims int) {
	group, ctx := errgroup.WithContext(l.Ctx)
	l.Must(l.Play(ctx, func(l *Lab) {
		left := l.nodes()
		for range victims {
			node := waitForFirstHeartbeat(l, left)
			left = slices.DeleteFunc(left, func(x string) bool { return x == node })
			kubelet := l.Cluster.Kubelets[node]
			l.Must(kubelet.Pause())
			group.Go(func() error {
				return l.Play(ctx, func(l *Lab) {
					l.waitForNodeStatus("unknown", node)
					l.Must(kubelet.Resume())
					l.waitForNodeStatus("true", node)
				})
			})
			l.Sleep(inTurnApart)
		}
	}))
	l.Must(group.Wait())
}

// waitForFirstHeartbeat waits until one of the nodes sends a heartbeat, and returns that node.
func waitForFirstHeartbeat(l *Lab, nodes []string) (first string) {
	before := l.counts()
	l.Until("the next heartbeat", func(l *Lab) {
		now := l.counts()
		i := slices.IndexFunc(nodes, func(node string) bool {
			return now.Sum(heartbeats, "node", node) > before.Sum(heartbeats, "node", node)
		})
		l.Expect(i >= 0, "no heartbeat from any of %d nodes", len(nodes))
		first = nodes[i]
	})
	return first
}
