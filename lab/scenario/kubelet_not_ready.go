package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
)

// kubeletNotReady takes the network plug-in of a node down. The kubelet renews its Lease, and reports Ready=False with a
// message. When the node is Ready again, the message is gone from the API, but kubeflap must still quote it.
func kubeletNotReady() Scenario {
	const victim = "node-2"
	return Scenario{
		Name:    "kubelet-not-ready",
		Summary: "the network plug-in of a node is down for half a minute: the kubelet reports NotReady with a message, and its heartbeats are on time",
		Reports: []Report{{"node", "node", "node_not_ready", victim, "the kubelet reported the node as not ready", "Check the network plug-in on " + victim}},
		Advised: []string{"Nothing to advise."},
		Alerts:  []Alert{},
		Options: cluster.Options{Nodes: 3, ControllerManagerPod: true},
		Prepare: func(l *Lab) { spreadReady(l, 3) },
		Run: func(l *Lab) {
			network := l.Cluster.Runtimes[victim].Network
			l.WaitForHeartbeats()
			network(false)
			defer network(true)
			l.waitForNodeStatus("false", victim)
			l.Sleep(30 * time.Second)
			checkQuoted(l, cluster.NetworkMessage)
			network(true)
			l.waitForNodeStatus("true", victim)
			checkQuoted(l, cluster.NetworkMessage)
			l.Expect(!l.late(victim, renewal+renewal/2), "the heartbeats of %s were late", victim)
		},
	}
}

// checkQuoted waits until the summary of an incident quotes a message.
func checkQuoted(l *Lab, message string) {
	if l.URL == "" {
		return
	}
	l.Until("an incident with the message of the kubelet", func(l *Lab) {
		all := l.Incidents().Incidents
		quoted := slices.ContainsFunc(all, func(x compare.Incident) bool { return strings.Contains(x.Summary, message) })
		l.Expect(quoted, "got %+v", all)
	})
}
