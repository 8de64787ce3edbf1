package scenario

import (
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

const (
	// away is how long the API server is down. It is longer than the grace period, so an observer that does not know
	// that its watches are broken would report all heartbeats as late.
	away = grace + 4*time.Second
	// frozen is how long the API server is paused while all watches are open. It is longer than the interval between
	// two renewals of a Lease. It is shorter than 45 s, after which a client closes a silent connection.
	frozen = 20 * time.Second
)

func apiServerRestart() Scenario {
	return Scenario{
		Name:     "apiserver-restart",
		Summary:  "the API server dies and returns after half a minute: kubeflap must report that it is blind, and no false transitions",
		Options:  cluster.Options{Nodes: 2, ControllerManagerPod: true, ControllerManagerFlags: []string{graceFlag}},
		Prepare:  spreadGated,
		Run:      flapEverything,
		LossesBy: "readiness_gate",
		Blind:    restartAPIServer,
	}
}

func apiServerStall() Scenario {
	return Scenario{
		Name:     "apiserver-stall",
		Summary:  "the API server is paused with all watches open, for less than the grace period",
		Options:  cluster.Options{Nodes: 2, ControllerManagerPod: true},
		LossesBy: "readiness_gate",
		Prepare:  spreadGated,
		Run: func(l *Lab) {
			flapEverything(l)
			catchUpWithRecorder(l, transitions)
			l.Cluster.APIServer.Pause()
			l.Sleep(frozen)
			l.Cluster.APIServer.Resume()
			// Wait until the recorder has also counted the long intervals that the pause causes.
			l.waitForCountAtLeast(2, "kubeflap_node_heartbeat_interval_seconds_count")
			// A heartbeat from before the pause can arrive shortly after the pause has begun.
			l.checkLate(frozen-time.Second, l.nodes()...)
			flapEverything(l)
			checkKeptWatches(l)
		},
	}
}

// flapEverything waits for a heartbeat from every node. Then it makes all addresses of the Service not ready for a
// moment. Finally, it does the same with one node.
func flapEverything(l *Lab) {
	const node = "node-1"
	before := l.counts()
	l.WaitForHeartbeats()
	for _, up := range []bool{false, true} {
		turnGates(l, up, 0)
		l.waitForCountAtLeast(before.Sum(flips, "to", readyOr(up))+batchSize, flips, "to", readyOr(up))
	}
	flapNode(l, node)
	l.waitForCountAtLeast(before.Sum(transitions, "node", node, "status", "true")+1, transitions, "node", node, "status", "true")
}

// restartAPIServer kills the API server and restarts it after the grace period. The controller manager is down for
// longer than the API server, as if both ran on one machine. While kubeflap reconnects, the kubelets are therefore the
// only writers, and they write only heartbeats.
func restartAPIServer(l *Lab) {
	c, b := l.Cluster, beforeBlindness(l)
	c.ControllerManager.Stop()
	c.APIServer.Stop()
	died := time.Now()
	l.Sleep(away)
	b.during()
	c.APIServer.Restart()
	l.Until("the API server", func(l *Lab) { l.Must(c.ReadyAPIServer(l.Ctx)) })
	b.after(time.Since(died))
	c.ControllerManager.Restart()
	waitForControllerManager(l)
}

func waitForControllerManager(l *Lab) {
	l.Until("the controller manager", func(l *Lab) { l.Must(l.Cluster.HealthyControllerManager(l.Ctx)) })
}

// catchUpWithRecorder waits until kubeflap's count of a metric has reached the recorder's count. Without this wait, the
// API server could be paused when the recorder has received an event that kubeflap has not.
func catchUpWithRecorder(l *Lab, metric string) {
	want := l.counts().Sum(metric)
	l.Until("kubeflap to reach the recorder's count of "+metric, func(l *Lab) {
		got := l.Scrape().Sum(metric)
		l.Expect(got >= want, "got %v, want at least %v", got, want)
	})
}

// checkKeptWatches checks that kubeflap did not treat a silent watch as broken.
func checkKeptWatches(l *Lab) {
	for _, metric := range []string{watchRelists, watchErrors} {
		n := l.Scrape().Sum(metric)
		l.Expect(n == 0, "unexpected value %v of %s", n, metric)
	}
}
