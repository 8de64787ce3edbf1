package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

const (
	// away is how long the API server is down. It is longer than the grace period, so an observer that does not know
	// that its watches are broken would report all heartbeats as late.
	away      = 28 * time.Second
	awayGrace = 24 * time.Second
	// frozen is how long the API server is paused while all watches are open. It is longer than the interval between
	// two renewals of a Lease. It is shorter than 45 s, after which a client closes a silent connection.
	frozen = 20 * time.Second
)

func apiServerRestart() Scenario {
	return Scenario{
		Name:    "apiserver-restart",
		Summary: "the API server dies and returns after half a minute: kubeflap must report that it is blind, and no false transitions",
		Options: cluster.Options{
			Nodes: 2, ControllerManagerPod: true,
			ControllerManagerFlags: []string{"--node-monitor-grace-period=" + awayGrace.String()},
		},
		Prepare:  func(ctx context.Context, l *Lab) error { return l.spreadGated(ctx) },
		Run:      func(ctx context.Context, l *Lab) error { return l.flapEverything(ctx) },
		LossesBy: "readiness_gate",
		Blind:    func(ctx context.Context, l *Lab) error { return l.restartAPIServer(ctx) },
	}
}

func apiServerStall() Scenario {
	return Scenario{
		Name:     "apiserver-stall",
		Summary:  "the API server is paused with all watches open, for less than the grace period",
		Options:  cluster.Options{Nodes: 2, ControllerManagerPod: true},
		LossesBy: "readiness_gate",
		Prepare:  func(ctx context.Context, l *Lab) error { return l.spreadGated(ctx) },
		Run: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.flapEverything(ctx) },
				func() error { return l.catchesUp(ctx, "kubeflap_node_ready_transitions_total") },
				l.Cluster.APIServer.Pause,
				func() error { return poll.Sleep(ctx, frozen) },
				l.Cluster.APIServer.Resume,
				// Wait until the recorder has also counted the long intervals that the pause causes.
				func() error { return l.waitForCountAtLeast(ctx, 2, "kubeflap_node_heartbeat_interval_seconds_count") },
				// A heartbeat from before the pause can arrive shortly after the pause has begun.
				func() error { return l.checkAllLate(frozen - time.Second) },
				func() error { return l.flapEverything(ctx) },
				func() error { return l.keptItsWatches(ctx) },
			)
		},
	}
}

// flapEverything waits for a heartbeat from every node. Then it makes all addresses of the Service not ready for a
// moment. Finally, it does the same with one node.
func (l *Lab) flapEverything(ctx context.Context) error {
	const node, flips, turns = "node-1", "kubeflap_service_address_flips_total", "kubeflap_node_ready_transitions_total"
	before, err := l.Truth.Counts()
	if err != nil {
		return err
	}
	flipped := func(to string) error {
		return l.waitForCountAtLeast(ctx, before.Sum(flips, "to", to)+batchSize, flips, "to", to)
	}
	return allOf(
		func() error { return l.WaitForHeartbeats(ctx) },
		func() error { return l.eachPod(ctx, 0, func(pod string) error { return l.turnGate(ctx, pod, false) }) },
		func() error { return flipped("not_ready") },
		func() error { return l.eachPod(ctx, 0, func(pod string) error { return l.turnGate(ctx, pod, true) }) },
		func() error { return flipped("ready") },
		func() error { return l.setNodeReady(ctx, node, corev1.ConditionFalse) },
		func() error { return poll.Sleep(ctx, 200*time.Millisecond) },
		func() error { return l.setNodeReady(ctx, node, corev1.ConditionTrue) },
		func() error {
			return l.waitForCountAtLeast(ctx, before.Sum(turns, "node", node, "status", "true")+1, turns, "node", node, "status", "true")
		},
	)
}

// restartAPIServer kills the API server and restarts it after the grace period. The controller manager is down for
// longer than the API server, as if both ran on one machine. While kubeflap reconnects, the kubelets are therefore the
// only writers, and they write only heartbeats.
func (l *Lab) restartAPIServer(ctx context.Context) error {
	c := l.Cluster
	b, err := l.beforeBlindness(ctx)
	if err != nil {
		return err
	}
	c.ControllerManager.Stop()
	c.APIServer.Stop()
	died := time.Now()
	return allOf(
		func() error { return poll.Sleep(ctx, away) },
		func() error { return b.during(ctx) },
		c.APIServer.Restart,
		func() error { return poll.Until(ctx, patience, "the API server", c.ReadyAPIServer) },
		func() error { return b.after(ctx, time.Since(died)) },
		c.ControllerManager.Restart,
		func() error { return poll.Until(ctx, patience, "the controller manager", c.HealthyControllerManager) },
	)
}

// catchesUp waits until kubeflap's count of a metric has reached the recorder's count. Without this wait, the API
// server could be paused when the recorder has received an event that kubeflap has not.
func (c *Checks) catchesUp(ctx context.Context, metric string) error {
	if c.URL == "" {
		return nil
	}
	seen, err := c.Truth.Counts()
	if err != nil {
		return err
	}
	return poll.Until(ctx, patience, "kubeflap to reach the recorder's count of "+metric, func(ctx context.Context) error {
		reported, err := c.scrape(ctx)
		if err != nil {
			return err
		}
		if got, want := reported.Sum(metric), seen.Sum(metric); got < want {
			return fmt.Errorf("got %v, want at least %v", got, want)
		}
		return nil
	})
}

// keptItsWatches checks that kubeflap did not treat a silent watch as broken.
func (c *Checks) keptItsWatches(ctx context.Context) error {
	if c.URL == "" {
		return nil
	}
	reported, err := c.scrape(ctx)
	if err != nil {
		return err
	}
	for _, metric := range []string{watchRelists, watchErrors} {
		if n := reported.Sum(metric); n > 0 {
			return fmt.Errorf("unexpected value %v of %s", n, metric)
		}
	}
	return nil
}
