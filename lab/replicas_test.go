package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/paging"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// TestReplicasKeepTheHistory upgrades two replicas with a volume each, one after the other, as the chart's StatefulSet
// does. No alert may even become pending. In a second upgrade, a node fails while one replica is away, and recovers while
// the other one is. In the end, both pages must show both incidents.
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
		steps.Must(d.cluster.Kubelets["node-2"].Pause())
		a.shows("running")
		b.shows("running")
		steps.Must(d.cluster.Kubelets["node-2"].Resume())
		a.shows("recovered")
		b.shows("recovered")

		pager := steps.Value(paging.Start(d.ctx, paging.Options{
			Rules: "../rules", Kubeflap: []string{a.address, b.address}, Kubeconfig: d.cluster.Kubeconfig, Log: logger(d.t),
		}))
		d.t.Cleanup(pager.Stop)
		for _, r := range []*replica{a, b} {
			r.stop()
			d.scrapes(pager, fmt.Sprintf(`up{job="kubeflap",instance=%q} == 0`, r.address))
			r.start()
			d.scrapes(pager, fmt.Sprintf(`up{job="kubeflap",instance=%q} == 1`, r.address))
			r.shows("recovered")
		}
		d.scrapes(pager, fmt.Sprintf(`count_over_time(up{job="kubeflap"}[1m]) > 6 and timestamp(up) > %d`, time.Now().Unix()))
		if alerts := steps.Value(pager.Query(d.ctx, `count_over_time(ALERTS[15m])`)); len(alerts)+len(pager.Receiver.Pages()) > 0 {
			d.t.Errorf("an upgrade raises alerts: %v, pages %v", alerts, pager.Receiver.Pages())
		}

		a.stop()
		steps.Must(d.cluster.Kubelets["node-2"].Pause())
		b.shows("recovered", "running")
		a.start()
		a.shows("recovered", "running")
		b.stop()
		steps.Must(d.cluster.Kubelets["node-2"].Resume())
		a.shows("recovered", "recovered")
		b.start()
		b.shows("recovered", "recovered")
		checkSame(d.t, a.incidents(), b.incidents())
	})
}

// scrapes waits until a query has a result.
func (d *desk) scrapes(pager *paging.Paging, query string) {
	steps.Must(poll.Until(d.ctx, 2*time.Minute, query, func(ctx context.Context) error {
		series, err := pager.Query(ctx, query)
		if err == nil && len(series) == 0 {
			err = fmt.Errorf("no result yet")
		}
		return err
	}))
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
	r := &replica{d: d, address: steps.Value(cluster.FreePort()), probes: steps.Value(cluster.FreePort())}
	here := strings.NewReplacer("--web.listen-address=:9969", "--web.listen-address="+r.address, "--web.probe-address=:9970", "--web.probe-address="+r.probes,
		"--data.dir=/data", "--data.dir="+filepath.Join(d.t.TempDir(), "data"))
	for _, arg := range pod.Containers[0].Args {
		r.args = append(r.args, here.Replace(arg))
	}
	r.args = append(r.args, "--kubeconfig="+steps.Value(d.cluster.AccountKubeconfig(d.ctx, namespace, pod.ServiceAccountName)))
	r.start()
	return r
}

func (r *replica) start() { r.process = r.d.start(r.probes, r.args...) }

func (r *replica) stop() { r.process.Stop() }

// incidents returns the incidents about node-2, oldest first.
func (r *replica) incidents() []compare.Incident {
	all := steps.Value(compare.Incidents(r.d.ctx, "http://"+r.address)).Incidents
	all = slices.DeleteFunc(all, func(x compare.Incident) bool { return x.Subject != "node-2" })
	slices.Reverse(all)
	return all
}

// shows waits until the incidents about node-2 have these states.
func (r *replica) shows(states ...string) {
	steps.Must(poll.Until(r.d.ctx, 3*time.Minute, "incidents that are "+strings.Join(states, ", "), func(context.Context) error {
		var got []string
		for _, x := range r.incidents() {
			got = append(got, x.State)
		}
		if !slices.Equal(got, states) {
			return fmt.Errorf("they are %q", got)
		}
		return nil
	}))
}

// checkSame checks that two replicas show the same incidents. A replica that was away when an incident began may have
// another ID for it, and knows the other one as an alias.
func checkSame(t *testing.T, first, second []compare.Incident) {
	t.Helper()
	for i, x := range first {
		y := second[i]
		if known := slices.Contains(append(y.Also, y.ID), x.ID) || slices.Contains(x.Also, y.ID); !known || x.Scope != y.Scope || x.Cause != y.Cause || x.Verdict != y.Verdict {
			t.Errorf("incident %d is\n%+v\nand\n%+v", i, x, y)
		}
	}
}
