package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// etcdGone is how long etcd is paused. It includes the API server's request timeout (60 s) and the grace period. The
// remaining 130 s exceed the 2 minutes after which the alert for nodes that are silent but Ready would fire. While etcd
// is paused, the node controller cannot read Leases, so the circuit breaker keeps the nodes Ready.
const etcdGone = time.Minute + grace + 130*time.Second

// etcdStall pauses etcd for so long that the API server drops its connections, watches and requests. The pause is in
// the scenario's function Blind, because all observers may miss events.
func etcdStall() Scenario {
	return Scenario{
		Name:    "etcd-stall",
		Extra:   true,
		Summary: "etcd stops for longer than the request timeout: the node controller cannot read a Lease, and all nodes are silent and stay Ready",
		Pages: []Page{{
			Alert: "KubeflapHeartbeatsLateClusterWide", Says: []string{"not the kubelets", "etcd's disk and load first"},
			Remedy: "etcd's disk and load first",
		}, {
			// The watches are silent for so long that kubeflap may have missed events.
			Alert: "KubeflapBlind", Says: []string{"the API server itself is down or cannot reach etcd"},
		}},
		Options: cluster.Options{
			Release: cluster.Newest, Nodes: breakerNodes, ControllerManagerPod: true,
			ControllerManagerFlags: slices.Concat([]string{graceFlag(), "--node-monitor-period=1s"}, patientLeader()),
		},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.spreadReady(ctx, breakerNodes) },
				func() error { return l.waitForNoTaints(ctx) },
			)
		},
		Run:   func(ctx context.Context, l *Lab) error { return l.WaitForHeartbeats(ctx) },
		Blind: func(ctx context.Context, l *Lab) error { return l.stallEtcd(ctx) },
	}
}

// stallEtcd pauses etcd. It checks kubeflap's reports during the pause, and for some time after it.
func (l *Lab) stallEtcd(ctx context.Context) error {
	b, err := l.beforeBlindness(ctx)
	if err != nil {
		return err
	}
	return allOf(
		l.Cluster.Etcd.Pause,
		func() error { return b.blamesEtcd(ctx, etcdGone) },
		l.Cluster.Etcd.Resume,
		func() error { return poll.Until(ctx, patience, "the API server", l.Cluster.ReadyAPIServer) },
		// In the next two grace periods, a node controller without the circuit breaker would set nodes to Unknown.
		func() error { return b.blamesEtcd(ctx, 2*grace) },
		func() error { return b.staysReady(ctx) },
	)
}

// blamesEtcd checks for the given time that kubeflap blames nothing but etcd. Each incident with a verdict must have
// the verdict shared_path, and there must be such an incident before the time is over.
func (b *blindness) blamesEtcd(ctx context.Context, lasts time.Duration) error {
	l, verdict := b.lab, ""
	if l.URL == "" {
		return poll.Sleep(ctx, lasts)
	}
	for begin := time.Now(); time.Since(begin) < lasts; {
		reported, err := compare.Incidents(ctx, l.URL)
		if err != nil {
			return err
		}
		for _, x := range reported.Incidents {
			if x.State == "pending" || x.Verdict == "undecided" {
				continue
			}
			if x.Verdict != "shared_path" || !strings.Contains(x.Because(), "the API server could not read Leases") {
				return fmt.Errorf("%s after the stall began: got incident %+v, but only etcd is at fault", time.Since(begin).Round(time.Second), x)
			}
			if verdict == "" {
				verdict = x.Verdict
				l.Log.Info("kubeflap reports a fault in what the nodes share", "after", time.Since(begin).Round(time.Second), "because", x.Because())
			}
		}
		if b.reported, err = l.scrape(ctx); err != nil {
			return err
		}
		if n := b.reported.Sum("kubeflap_node_silent_ready"); n > 0 {
			return fmt.Errorf("%s after the stall began: got %v nodes that are silent but Ready, want 0", time.Since(begin).Round(time.Second), n)
		}
		if err := poll.Sleep(ctx, checkPeriod); err != nil {
			return err
		}
	}
	if verdict == "" {
		return errors.New("kubeflap has not reported that etcd is at fault")
	}
	return nil
}

// staysReady checks that the Ready condition of every node is unchanged since beforeBlindness was called. kubeflap must
// also have counted no transition of a node or an address, and no lost address.
func (b *blindness) staysReady(ctx context.Context) error {
	nodes, err := b.lab.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range nodes.Items {
		for _, c := range nodes.Items[i].Status.Conditions {
			if c.Type == corev1.NodeReady && c.LastTransitionTime.After(b.began) {
				return fmt.Errorf("the node controller marked %s at %s", nodes.Items[i].Name, c.LastTransitionTime)
			}
		}
	}
	if b.lab.URL == "" {
		return nil
	}
	if err := b.lab.waitForRecoveredWatches(ctx); err != nil {
		return err
	}
	if b.reported, err = b.lab.scrape(ctx); err != nil {
		return err
	}
	for _, metric := range []string{"kubeflap_node_ready_transitions_total", "kubeflap_service_address_flips_total", "kubeflap_service_address_losses_total"} {
		if was, is := b.before.Sum(metric), b.reported.Sum(metric); was != is {
			return fmt.Errorf("%s was %v and is %v", metric, was, is)
		}
	}
	return errors.Join(compare.Ready(ctx, b.lab.URL), poll.Sleep(ctx, catchUp))
}
