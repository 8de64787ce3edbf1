package main

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// announcements returns all ways to announce node-1's departure at second 300.
func announcements() map[string]func(*fakeCluster) {
	all := map[string]func(*fakeCluster){
		"a deletionTimestamp": func(c *fakeCluster) {
			c.change(300, 1, func(o *event.Node) { o.DeletionTimestamp = c.now.Truncate(time.Second) })
		},
		"a cordon and a drain": func(c *fakeCluster) { c.cordon(300, 1).drains(301, 1) },
	}
	for _, key := range []string{
		"ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted", "karpenter.sh/disruption",
		"aws-node-termination-handler/asg-lifecycle-termination", "aws-node-termination-handler/scheduled-maintenance",
		"aws-node-termination-handler/spot-itn", "cloud.google.com/impending-node-termination",
		"node.cluster.x-k8s.io/outdated-revision", "medik8s.io/drain",
	} {
		all["the taint "+key] = func(c *fakeCluster) { c.taint(300, 1, key) }
	}
	for _, typ := range []event.LifecycleType{event.DrainInProgress, event.Drained, event.MaintenancePlanned, event.MaintenanceInProgress} {
		all["the condition "+string(typ)] = func(c *fakeCluster) { c.condition(300, 1, typ) }
	}
	return all
}

// storiesOfAnnouncements returns a story for each kind of announcement. The announced node is always removed.
func storiesOfAnnouncements() (all []scenario) {
	byName := announcements()
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		announce := byName[name]
		all = append(all, scenario{
			name: "announced by " + name,
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				announce(c)
				return c.silence(340, forever, 1).deletes(500, 1)
			},
			expected: []expectation{{390, "planned 1"}, {600, "planned 1"}},
			evidence: []string{strings.TrimSuffix(strings.Replace(name, "a deletionTimestamp", "its deletion", 1), " and a drain")},
		})
	}
	return all
}

const untilUpgraded = "whether the others are being upgraded as well shows when they are back"

// storiesOfDepartures returns stories about nodes that leave or restart, with or without an announcement.
func storiesOfDepartures() []scenario {
	return append(storiesOfAnnouncements(), []scenario{
		{
			name: "a termination handler taints its node, which sends no more heartbeat",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).taint(298, 1, "aws-node-termination-handler/spot-itn").silence(297, forever, 1)
			},
			expected: []expectation{{350, "planned 1"}, {600, "planned 1"}},
			evidence: []string{"announced by the taint aws-node-termination-handler/spot-itn after the last heartbeat, and before the next one was due"},
			lacks:    []string{"before the silence"},
		},
		{
			name: "maintenance is announced by one condition, and by another when the node is already silent",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).condition(300, 1, event.DrainInProgress).silence(340, forever, 1).change(365, 1, func(o *event.Node) {
					o.Lifecycle[0].Type = event.MaintenanceInProgress
				})
			},
			expected: []expectation{{390, "planned 1"}, {600, "planned 1"}},
			evidence: []string{"announced by the condition DrainInProgress before the silence"},
		},
		{
			name: "an announcement is withdrawn when the node is already silent",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).condition(300, 1, event.Drained).silence(340, forever, 1).change(365, 1, func(o *event.Node) {
					o.Lifecycle = nil
				})
			},
			expected: []expectation{{390, "planned 1"}},
			evidence: []string{"announced by the condition Drained before the silence"},
		},
		{
			name: "a taint that follows the first heartbeat that is missing announces nothing",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).taint(312, 1, "aws-node-termination-handler/spot-itn").silence(297, forever, 1)
			},
			expected: []expectation{{350, "node 1"}, {600, "node 1"}},
			advice:   "nodes_silent 1",
		},
		{
			name: "an autoscaler removes four nodes",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				for i := 1; i <= 4; i++ {
					c.taint(300, i, "ToBeDeletedByClusterAutoscaler").drains(302+float64(12*i), i).silence(360, forever, i).deletes(500, i)
				}
				return c
			},
			expected: []expectation{{420, "planned 1; planned 2; planned 3; planned 4"}, {700, "planned 1; planned 2; planned 3; planned 4"}},
		},
		{
			name: "a drain of two nodes takes both addresses of a Service",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).cordon(300, 1).cordon(300, 2).drains(302, 1).drains(302, 2)
			},
			expected: []expectation{{310, "planned shop/Deployment/cart"}, {600, "planned shop/Deployment/cart"}},
			evidence: []string{"the pods left nodes whose departure was announced by a cordon"},
		},
		{
			name: "pods are evicted from nodes that stay, and nothing replaces them in time",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).drains(302, 1).drains(302, 2)
			},
			expected: []expectation{{310, "workload shop/Deployment/cart"}, {600, "workload shop/Deployment/cart"}},
		},
		{
			name: "a reboot daemon cordons, drains and reboots a node",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).cordon(300, 1).drains(302, 1).reboots(340, 430, 1).uncordon(440, 1)
			},
			expected: []expectation{{390, "planned 1"}, {700, "planned 1"}},
		},
		{
			name: "a node that came back from its maintenance fails an hour later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).cordon(300, 1).drains(302, 1).reboots(340, 430, 1).uncordon(440, 1).silence(4000, forever, 1)
			},
			expected: []expectation{{505, "planned 1"}, {700, "planned 1"}, {4060, "node 1; planned 1"}},
			advice:   "grace_period_tight; nodes_slow 1",
		},
		{
			name: "people cordon a node that flaps, and it fails again: that announces nothing",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).slow(1, 300, 49).cordon(400, 1).silence(800, forever, 1)
			},
			expected: []expectation{{350, "node 1"}, {900, "node 1"}},
			advice:   "grace_period_tight; nodes_slow 1",
		},
		{
			name: "a cordon of more than an hour ago announces nothing while pods run on the node",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).cordon(300, 1).silence(4000, forever, 1)
			},
			expected: []expectation{{4060, "node 1"}},
			advice:   "grace_period_tight; nodes_slow 1",
		},
		{
			name: "an unplanned loss beside a planned one",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).taint(300, 1, "ToBeDeletedByClusterAutoscaler").silence(340, forever, 1, 2)
			},
			expected: []expectation{{390, "node 2; planned 1"}, {500, "node 2; planned 1"}},
			advice:   "nodes_silent 2",
		},
		{
			name: "a machine is gone without notice, and its node deleted two minutes later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, forever, 1).deletes(420, 1)
			},
			expected: []expectation{{350, "node 1"}, {430, "undecided 1"}, {600, "undecided 1"}},
			open:     "a machine that is gone was reclaimed, or failed and was replaced",
			evidence: []string{"the machine is gone: it was reclaimed, or it failed and was replaced", "the verdict was revised from node to undecided"},
		},
		{
			name: "a machine fails without notice, and its node is deleted eleven minutes later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, forever, 1).deletes(300+11*60, 1)
			},
			expected: []expectation{{350, "node 1"}, {950, "node 1"}, {970, "node 1"}, {1200, "node 1"}},
			evidence: []string{"the Node was deleted 11m", "after its last heartbeat, but the Node of a reclaimed machine would have been deleted sooner", "the Node was deleted, so no bootID shows"},
			lacks:    []string{"the machine is gone", "when the node is back"},
			over:     true,
		},
		{
			name: "the same, while kubeflap's watch of nodes is broken from the ninth minute on",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, forever, 1).breaks(event.KindNode, 300+9*60, 300+12*60, event.ReasonTimeout).deletes(300+11*60, 1)
			},
			expected: []expectation{{350, "node 1"}, {830, "node 1"}, {1050, "undecided 1"}},
			open:     "it may have been deleted within ten minutes",
		},
		{
			name: "a plan that fails: the reboot does not come back",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).cordon(300, 1).drains(302, 1).silence(340, forever, 1)
			},
			expected: []expectation{{390, "planned 1"}, {1300, "planned 1"}},
		},
		{
			name:     "a machine reboots without notice",
			cluster:  func() *fakeCluster { return newFakeCluster(9).reboots(300, 390, 1) },
			expected: []expectation{{350, "node 1"}, {400, "node_rebooted 1"}, {600, "node_rebooted 1"}},
			evidence: []string{"reported a new bootID after the silence", "the verdict was revised from node to node_rebooted"},
			advice:   "nodes_rebooted 1",
		},
		{
			name: "a host takes three nodes down, which reboot",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9).reboots(300, 390, 1, 2, 3)
				for i := range 3 {
					c.nodes[i].Labels["node.cluster.x-k8s.io/esxi-host"] = "esx-7"
				}
				return c
			},
			expected: []expectation{{350, "shared_path 1,2,3"}, {400, "node_rebooted 1,2,3"}, {600, "node_rebooted 1,2,3"}},
			open:     untilAThird,
			evidence: []string{"node.cluster.x-k8s.io/esxi-host=esx-7"},
			advice:   "nodes_rebooted 1,2,3",
		},
		{
			name:     "an upgrade replaces three kubelets at once",
			cluster:  func() *fakeCluster { return newFakeCluster(9).upgrades(300, 390, 1, 2, 3) },
			expected: []expectation{{350, "shared_path 1,2,3"}, {420, "node 1,2,3"}, {600, "node 1,2,3"}},
			open:     untilAThird,
			evidence: []string{"reported a different version after the silence"},
			advice:   "kubelets_upgraded 1,2,3",
		},
		{
			name: "a kubelet is upgraded beside two silent nodes, which return soon after",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, 395, 2).silence(300, 408, 3).upgrades(300, 390, 1)
			},
			expected: []expectation{{350, "shared_path 1,2,3"}, {393, "undecided 1,2,3"}, {410, "shared_path 1,2,3"}, {600, "shared_path 1,2,3"}},
			open:     untilUpgraded,
			advice:   "control_plane_late 1,2,3", over: true,
		},
		{
			name:     "a kubelet is upgraded beside four silent nodes, which stay silent",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, forever, 2, 3, 4, 5).upgrades(300, 390, 1) },
			expected: []expectation{{350, "shared_path 1,2,3,4,5"}, {393, "undecided 1,2,3,4,5"}, {900, "undecided 1,2,3,4,5"}},
			open:     untilUpgraded,
			evidence: []string{"node-1 fell silent with them and came back with a different kubelet version, so an upgrade may have stopped all of them", "journalctl -u kubelet --since"},
			advice:   "undecided 1,2,3,4,5",
		},
		{
			name: "three kubelets that stop together are upgraded one after the other",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).upgrades(300, 390, 1).upgrades(300, 396, 2).upgrades(300, 402, 3)
			},
			expected: []expectation{{350, "shared_path 1,2,3"}, {393, "undecided 1,2,3"}, {405, "node 1,2,3"}, {700, "node 1,2,3"}},
			open:     untilUpgraded,
			evidence: []string{"reported a different version after the silence"},
			advice:   "kubelets_upgraded 1,2,3", over: true,
		},
		{
			name: "a node that was cordoned and emptied is switched off two hours later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).cordon(300, 1).drains(302, 1).silence(7500, forever, 1)
			},
			expected: []expectation{{7560, "planned 1"}},
		},
	}...)
}
