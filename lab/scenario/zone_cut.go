package scenario

import "fmt"

const zoneLabel = "topology.kubernetes.io/zone"

// zoneCut causes three separate faults: two slow kubelets, and then a network failure of a zone. kubeflap must report
// them as separate incidents.
func zoneCut() Scenario {
	const nodes, zones = 9, 3
	options := graced(nodes)
	options.KubeletsLinked = true
	slow, cut := []string{"node-2", "node-4"}, []string{"node-3", "node-6", "node-9"}
	return Scenario{
		Name:    "zone-cut",
		Extra:   true,
		Summary: "two kubelets are slow one after the other; then the network between a zone with a third of the nodes and the API server is cut",
		Reports: []Report{
			{"node", "node", "node_heartbeat_lost", slow[0], "the other 8 nodes sent their heartbeats on time", "--node-monitor-grace-period to "},
			{"node", "node", "node_heartbeat_lost", slow[1], "the other 8 nodes sent their heartbeats on time", "--node-monitor-grace-period to "},
			{"shared_path", "control_plane", "node_heartbeat_lost", "control plane", "they are the only nodes with " + zoneLabel + "=zone-3", "what only these nodes share"},
		},
		Advised: []string{"control plane late", "3 of 9 nodes: ", "what only these nodes share", "nodes slow", "2 of 9 nodes: "},
		Alerts: []Alert{
			lostAlert(slow[0], "--node-monitor-grace-period to "),
			lostAlert(slow[1], "--node-monitor-grace-period to "),
			{
				Name: "KubeflapControlPlaneFault", Says: []string{"Verdict: shared path"},
				Remedy: "what only these nodes share",
			},
		},
		LossesBy: "node_heartbeat_lost",
		Options:  options,
		Prepare: func(l *Lab) {
			for i, node := range l.nodes() {
				patch(l, l.Client.CoreV1().Nodes(), node, fmt.Sprintf(`{"metadata":{"labels":{%q:"zone-%d"}}}`, zoneLabel, 1+i%zones))
			}
			spreadReady(l, nodes)
		},
		Run: func(l *Lab) { slowThenCut(l, slow, cut) },
	}
}

// slowThenCut pauses the kubelets of the slow nodes one after the other, and then cuts the network of other nodes.
func slowThenCut(l *Lab, slow, cut []string) {
	l.WaitForHeartbeats()
	for _, node := range slow {
		kubelet := l.Cluster.Kubelets[node]
		l.Must(kubelet.Pause())
		l.waitForNodeStatus("unknown", node)
		l.Must(kubelet.Resume())
		waitForRecovery(l, node)
	}
	// Wait until the alerts for the two slow nodes have been sent. Later, the alert for the zone would inhibit them.
	l.Sleep(alertSent)
	for _, node := range cut {
		l.Cluster.KubeletLinks[node].Cut()
	}
	l.waitForNodeStatus("unknown", cut...)
	for _, node := range cut {
		l.Cluster.KubeletLinks[node].Mend()
	}
	waitForRecovery(l, cut...)
}

// waitForRecovery waits until the given nodes and all addresses are ready again.
func waitForRecovery(l *Lab, nodes ...string) {
	l.waitForNodeStatus("true", nodes...)
	l.webHas(len(l.Cluster.Kubelets), "ready")
}
