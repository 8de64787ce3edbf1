package scenario

import (
	"net/http"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

const (
	// vanishing is a Service that is deleted during the gap, and recreated is one that is deleted and created again.
	vanishing, recreated = "vanishing", "recreated"
	// edgeNode is a node without a kubelet, which is deleted during the gap.
	edgeNode = "edge-1"
)

// relist is a gap in kubeflap's watches in which objects vanish. Afterwards, kubeflap must list everything, because the
// API server answers 410.
func relist(release cluster.Release) Scenario {
	return Scenario{
		Name:    "relist",
		Summary: "kubeflap's watches expire, and objects are deleted and recreated before it lists again",
		Options: cluster.Options{
			Release: release, Nodes: 2, ControllerManagerPod: true,
			// The node without a kubelet must not be marked.
			ControllerManagerFlags: []string{"--node-monitor-grace-period=1h", "--node-startup-grace-period=1h"},
		},
		LossesBy: "readiness_gate",
		Proxied:  true,
		Prepare: func(l *Lab) {
			spreadGated(l)
			createNode(l, edgeNode)
			makeManual(l, vanishing, "192.0.2.1", "192.0.2.2")
			makeManual(l, recreated, "192.0.2.3", "192.0.2.4")
		},
		Run:   flapEverything,
		Blind: changeUnseen,
	}
}

// changeUnseen expires kubeflap's watches, and lets it list again when the objects have changed.
func changeUnseen(l *Lab) {
	l.Sleep(afterglow)
	l.Proxy.Answer(http.StatusGone)
	removeService(l, "shop", vanishing)
	removeService(l, "shop", recreated)
	makeManual(l, recreated, "192.0.2.4", "192.0.2.5", "192.0.2.6")
	remove(l, l.Client.CoreV1().Nodes(), edgeNode)
	l.Sleep(5 * time.Second)
	l.Proxy.Answer(0)
	waitForRecoveredWatches(l)
	l.Until("kubeflap to be ready", func(l *Lab) { l.Must(l.Ready()) })
	l.Sleep(catchUp)
}
