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
	// away is how long the API server is down at least: longer than the grace period, so
	// that every node would be late for somebody who does not know that he is blind.
	away      = 28 * time.Second
	awayGrace = 24 * time.Second
	// frozen is how long the API server stands still with all watches open. Longer than
	// a renewal takes, shorter than a client takes to give up a silent connection (45 s).
	frozen = 20 * time.Second
)

func apiServerRestart() Scenario {
	return Scenario{
		Name:    "apiserver-restart",
		Summary: "the API server dies and comes back half a minute later: kubeflap is blind, and must say so and invent nothing",
		Options: cluster.Options{
			Nodes: 2, ControllerManagerPod: true,
			ControllerManagerFlags: []string{"--node-monitor-grace-period=" + awayGrace.String()},
		},
		Prepare: func(ctx context.Context, l *Lab) error { return l.spreadGated(ctx) },
		Run:     func(ctx context.Context, l *Lab) error { return l.flapEverything(ctx) },
		Blind:   func(ctx context.Context, l *Lab) error { return l.restartAPIServer(ctx) },
	}
}

func apiServerStall() Scenario {
	return Scenario{
		Name:    "apiserver-stall",
		Summary: "the API server stands still with all watches open, for less than the grace period",
		Options: cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare: func(ctx context.Context, l *Lab) error { return l.spreadGated(ctx) },
		Run: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.flapEverything(ctx) },
				func() error { return l.told(ctx, "kubeflap_node_ready_transitions_total") },
				l.Cluster.APIServer.Pause,
				func() error { return poll.Sleep(ctx, frozen) },
				l.Cluster.APIServer.Resume,
				// An interval is as long as it was, whoever was to blame.
				func() error { return l.counted(ctx, 2, "kubeflap_node_heartbeat_interval_seconds_count") },
				// A heartbeat from right before can have been seen right after.
				func() error { return l.allWereLate(frozen - time.Second) },
				func() error { return l.flapEverything(ctx) },
				func() error { return l.keptItsWatches(ctx) },
			)
		},
	}
}

// flapEverything takes all addresses out of the Service and puts them back, and lets a
// node be NotReady for a moment. Every node beats before.
func (l *Lab) flapEverything(ctx context.Context) error {
	const node, flips, turns = "node-1", "kubeflap_service_address_flips_total", "kubeflap_node_ready_transitions_total"
	before, err := l.Truth.Counts()
	if err != nil {
		return err
	}
	flipped := func(to string) error {
		return l.counted(ctx, before.Sum(flips, "to", to)+batch, flips, "to", to)
	}
	return allOf(
		func() error { return l.EveryNodeBeats(ctx) },
		func() error { return l.eachPod(ctx, 0, func(pod string) error { return l.turnGate(ctx, pod, false) }) },
		func() error { return flipped("not_ready") },
		func() error { return l.eachPod(ctx, 0, func(pod string) error { return l.turnGate(ctx, pod, true) }) },
		func() error { return flipped("ready") },
		func() error { return l.setNodeReady(ctx, node, corev1.ConditionFalse) },
		func() error { return poll.Sleep(ctx, 200*time.Millisecond) },
		func() error { return l.setNodeReady(ctx, node, corev1.ConditionTrue) },
		func() error {
			return l.counted(ctx, before.Sum(turns, "node", node, "status", "true")+1, turns, "node", node, "status", "true")
		},
	)
}

// restartAPIServer kills the API server and starts it again when every node would be
// late. The controller manager dies with it, as on one machine, and comes last: so
// nobody but the kubelets writes while nobody looks, and they only renew their Leases.
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

// told waits until kubeflap too has counted what the truth has: what the API server has told one of them only, it tells
// the other when it goes on.
func (c *Checks) told(ctx context.Context, metric string) error {
	if c.URL == "" {
		return nil
	}
	seen, err := c.Truth.Counts()
	if err != nil {
		return err
	}
	return poll.Until(ctx, patience, "kubeflap to count as much of "+metric, func(ctx context.Context) error {
		told, err := c.scrape(ctx)
		if err != nil {
			return err
		}
		if got, want := told.Sum(metric), seen.Sum(metric); got < want {
			return fmt.Errorf("only %v of %v so far", got, want)
		}
		return nil
	})
}

// keptItsWatches checks that kubeflap did not take a silent watch for a broken one.
func (c *Checks) keptItsWatches(ctx context.Context) error {
	if c.URL == "" {
		return nil
	}
	told, err := c.scrape(ctx)
	if err != nil {
		return err
	}
	for _, metric := range []string{watchRelists, watchErrors} {
		if n := told.Sum(metric); n > 0 {
			return fmt.Errorf("kubeflap tells %v in %s", n, metric)
		}
	}
	return nil
}
