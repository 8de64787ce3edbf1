package lab

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/prometheus"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// TestReplicasKeepTheHistory upgrades two replicas with a volume each, one after the other, as the chart's StatefulSet
// does. No alert may even become pending. In a second upgrade, another node fails while one replica is away, and recovers
// while the other one is. In the end, both pages must show both incidents.
func TestReplicasKeepTheHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	t.Parallel()
	d := newDesk(t, buildKubeflap(t), cluster.Options{
		Release: cluster.Newest, Nodes: 3, ControllerManagerPod: true,
		ControllerManagerFlags: []string{"--node-monitor-grace-period=24s", "--node-monitor-period=1s"},
	})
	d.run(func() {
		d.helm(namespace, "install", "kubeflap", "../charts/kubeflap", "--create-namespace", "--set", "persistence.enabled=true")
		a, b := d.newReplica(), d.newReplica()
		d.makeWeb()
		d.cluster.Kubelets["node-2"].Pause()
		a.shows("node-2", begun)
		b.shows("node-2", begun)
		d.cluster.Kubelets["node-2"].Resume()
		a.shows("node-2", over)
		b.shows("node-2", over)

		observer := steps.Value(prometheus.Start(d.ctx, a.address, b.address))
		d.t.Cleanup(observer.Stop)
		for _, r := range []*replica{a, b} {
			r.stop()
			observer.Until(d.ctx, fmt.Sprintf(`up{job="kubeflap",instance=%q} == 0`, r.address))
			r.start()
			observer.Until(d.ctx, fmt.Sprintf(`up{job="kubeflap",instance=%q} == 1`, r.address))
			r.shows("node-2", over)
		}
		observer.Until(d.ctx, fmt.Sprintf(`count_over_time(up{job="kubeflap"}[1m]) > 6 and timestamp(up) > %d`, time.Now().Unix()))
		// The setting itself is too tight for the incident before the upgrade.
		if alerts := observer.Query(d.ctx, `count_over_time(ALERTS{alertname!="KubeflapGracePeriodTooTight"}[15m])`); len(alerts) > 0 {
			d.t.Errorf("an upgrade raises alerts: %v", alerts)
		}

		a.stop()
		d.cluster.Kubelets["node-3"].Pause()
		b.shows("node-3", begun)
		a.start()
		a.shows("node-3", begun)
		b.stop()
		d.cluster.Kubelets["node-3"].Resume()
		a.shows("node-3", over)
		b.start()
		b.shows("node-3", over)
		checkSame(d.t, a.incidents(), b.incidents())
	})
}

// replica is a kubeflap that runs with the flags and the account of the chart's pods, beside the cluster.
type replica struct {
	d               *desk
	address, probes string
	args            []string
	process         *cluster.Process
}

func (d *desk) newReplica() *replica {
	pod := steps.Value(d.cluster.Client.AppsV1().StatefulSets(namespace).Get(d.ctx, "kubeflap", metav1.GetOptions{})).Spec.Template.Spec
	r := &replica{d: d, address: cluster.FreePort(), probes: cluster.FreePort()}
	r.args = d.flags(namespace, &pod, r.address, r.probes)
	r.start()
	return r
}

func (r *replica) start() { r.process = r.d.start(r.probes, r.args...) }

func (r *replica) stop() { steps.Must(r.process.Terminate(r.d.ctx)) }

// incidents returns all incidents, by their subjects.
func (r *replica) incidents() map[string]compare.Incident {
	all := map[string]compare.Incident{}
	for _, x := range compare.Incidents(r.d.ctx, "http://"+r.address).Incidents {
		if _, twice := all[x.Subject]; twice {
			r.d.t.Errorf("%s has two incidents about %s", r.address, x.Subject)
		}
		all[x.Subject] = x
	}
	return all
}

// States of an incident. A new failure still belongs to an incident that has recovered, until it has ended.
var begun, over = []string{"ongoing"}, []string{"recovered", "resolved"}

// shows waits until the incident about a node has one of the states.
func (r *replica) shows(node string, states []string) {
	steps.Must(poll.Until(r.d.ctx, 3*time.Minute, "an incident about "+node, func(context.Context) error {
		if got := r.incidents()[node].State; !slices.Contains(states, got) {
			return fmt.Errorf("its state is %q, want one of %q", got, states)
		}
		return nil
	}))
}

// checkSame checks that two replicas show the same incidents. A replica that was away when an incident began may have
// another ID for it, and then knows the other one as an alias. Because of its gap, it may be undecided.
func checkSame(t *testing.T, first, second map[string]compare.Incident) {
	t.Helper()
	if len(first) != len(second) {
		t.Errorf("%d incidents, and %d", len(first), len(second))
	}
	for subject, x := range first {
		y := second[subject]
		same := slices.Contains(append(y.Also, y.ID), x.ID) || slices.Contains(x.Also, y.ID)
		if !same || x.Scope != y.Scope || x.Cause != y.Cause || x.Verdict != y.Verdict && x.Verdict != "undecided" && y.Verdict != "undecided" {
			t.Errorf("the incident about %s is\n%+v\nand\n%+v", subject, x, y)
		}
	}
}
