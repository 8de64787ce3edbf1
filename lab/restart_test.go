package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/poll"
)

const (
	// The node lasting is silent during all restarts. The node passing recovers while kubeflap is not running. The node
	// later becomes silent after the last restart. All other objects are on the node quiet, which stays healthy.
	lasting, passing, later, quiet = "node-2", "node-3", "node-4", "node-1"
	// The only pod of the Service down is not ready during all restarts. The pod of the Service back becomes ready
	// while kubeflap is not running.
	down, back = "down", "back"
	// ended is the time from the last recovery until incidents end, with some time to spare.
	ended = 4 * time.Minute
	// apart is the largest difference in seconds between the times of two kubeflap processes.
	apart = 2.0
)

// restarted is a cluster with two kubeflap instances. Only the instance kept is restarted. The other one, the witness,
// shows what kept should report.
type restarted struct {
	*cluster.Cluster
	t             *testing.T
	ctx           context.Context
	kept, witness *cluster.Process
	// addresses of the restarted kubeflap and of the witness
	keptURL, witnessURL string
	// stopped and started limit the time in which the node passing recovered.
	stopped, started time.Time
}

// lastingIncident is what must survive a restart.
type lastingIncident struct {
	ID, State, Cause, Verdict, Subject string
	Also                               []string
	Start                              time.Time
	End                                *time.Time
	Nodes                              []string
	NodeTransitions                    int     `json:"node_transitions"`
	AddressesLost                      int     `json:"addresses_lost"`
	AddressesBack                      int     `json:"addresses_back"`
	Outages                            int     `json:"outages"`
	OutageSeconds                      float64 `json:"outage_seconds"`
	Timeline                           []struct{ Lane string }
	Considered                         []compare.Considered
}

// has reports whether the incident belongs to a node or a Service.
func (x *lastingIncident) has(name string) bool {
	return x.Subject == name || x.Subject == "Service/"+name
}

// TestRestart kills and restarts a kubeflap with --data.dir while nodes are silent and pods are not ready. It must then
// report the same incidents as an instance that was not restarted.
func TestRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("too slow for each change")
	}
	t.Parallel()
	r := startRestarted(t, buildKubeflap(t))
	r.setGates(corev1.ConditionFalse, down, back)
	r.silence(lasting, passing)
	r.must(poll.Sleep(r.ctx, 3*time.Second)) // kubeflap saves an incident within a second
	r.kept.Stop()
	r.stopped = time.Now()
	r.recover(passing)
	r.setGates(corev1.ConditionTrue, back)
	r.restart()
	r.started = time.Now()
	r.alike("while a node is still silent")

	r.must(r.kept.Terminate(r.ctx))
	r.restart()
	r.alike("after the second restart")

	r.silence(later)
	r.recover(lasting, later)
	r.setGates(corev1.ConditionTrue, down)
	r.must(poll.Until(r.ctx, ended, "all incidents to end", func(ctx context.Context) error {
		return errors.Join(allEnded(r.incidents(ctx, r.witnessURL)), allEnded(r.incidents(ctx, r.keptURL)))
	}))
	r.alike("after the end")
}

func startRestarted(t *testing.T, kubeflap string) *restarted {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	started, err := cluster.Start(ctx, cluster.Options{
		Nodes: 5, ControllerManagerPod: true, Log: logger(t),
		ControllerManagerFlags: []string{"--node-monitor-grace-period=24s", "--node-monitor-period=1s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Stop)
	r := &restarted{Cluster: started, t: t, ctx: ctx}
	r.must(serveOnEachNode(ctx, started), serveGated(ctx, started, down, quiet), serveGated(ctx, started, back, quiet))
	r.witness, r.witnessURL = r.startKubeflap(kubeflap, "witness")
	r.kept, r.keptURL = r.startKubeflap(kubeflap, "kept", "--data.dir="+t.TempDir())
	r.setGates(corev1.ConditionTrue, down, back)
	return r
}

func (r *restarted) startKubeflap(path, name string, args ...string) (run *cluster.Process, url string) {
	r.t.Helper()
	address, err := cluster.FreePort()
	r.must(err)
	run, err = cluster.StartProcess(name, r.LogPath(name), cluster.Command{Path: path, Args: append([]string{"run", "--kubeconfig=" + r.Kubeconfig, "--web.listen-address=" + address}, args...)})
	r.must(err)
	r.t.Cleanup(run.Stop)
	url = "http://" + address
	r.ready(run, url)
	return run, url
}

func (r *restarted) ready(run *cluster.Process, url string) {
	r.t.Helper()
	r.must(run.Until(r.ctx, time.Minute, run.Name+" to be ready", func(ctx context.Context) error { return compare.Ready(ctx, url) }))
}

// restart restarts the instance kept, and waits until it has compared the saved incidents with the cluster.
func (r *restarted) restart() {
	r.t.Helper()
	r.must(r.kept.Restart())
	r.ready(r.kept, r.keptURL)
	r.must(poll.Sleep(r.ctx, 5*time.Second))
}

func (r *restarted) must(errs ...error) {
	r.t.Helper()
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
}

// silence pauses the kubelets of nodes, and waits until the nodes are Unknown and the witness reports their outages.
// The pod of each node has an address in two Services, which the endpointslice controller does not update at the same
// time.
func (r *restarted) silence(nodes ...string) {
	r.t.Helper()
	for _, node := range nodes {
		r.must(r.Kubelets[node].Pause())
	}
	for _, node := range nodes {
		r.becomes(node, corev1.ConditionUnknown)
		r.outageOf(node, 2)
	}
}

// outageOf waits until the witness reports an outage and lost addresses in the incident of a node or Service.
func (r *restarted) outageOf(name string, lost int) {
	r.t.Helper()
	r.must(poll.Until(r.ctx, time.Minute, "an outage because of "+name, func(ctx context.Context) error {
		all, err := r.incidents(ctx, r.witnessURL)
		if !slices.ContainsFunc(all, func(x lastingIncident) bool { return x.has(name) && x.Outages > 0 && x.AddressesLost >= lost }) {
			err = errors.Join(err, fmt.Errorf("got %+v", all))
		}
		return err
	}))
}

// setGates makes the only pods of Services ready or not ready, and waits for the addresses and the outages.
func (r *restarted) setGates(status corev1.ConditionStatus, services ...string) {
	r.t.Helper()
	for _, service := range services {
		r.must(setGate(r.ctx, r.Cluster, service, status))
		if status == corev1.ConditionTrue {
			r.serves(service)
			continue
		}
		r.outageOf(service, 1)
	}
}

// serves waits until a Service has a ready address.
func (r *restarted) serves(service string) {
	r.t.Helper()
	r.must(poll.Until(r.ctx, time.Minute, "a ready address of "+service, func(ctx context.Context) error {
		n, err := cluster.ReadyAddresses(ctx, r.Client, metav1.NamespaceDefault, service)
		if err == nil && n == 0 {
			err = errors.New("no ready address")
		}
		return err
	}))
}

// recover resumes the kubelets of nodes, and waits until the addresses on the nodes are ready.
func (r *restarted) recover(nodes ...string) {
	r.t.Helper()
	for _, node := range nodes {
		r.must(r.Kubelets[node].Resume())
	}
	for _, node := range nodes {
		r.becomes(node, corev1.ConditionTrue)
		r.serves(onlyOn(node))
	}
}

func (r *restarted) becomes(name string, status corev1.ConditionStatus) {
	r.t.Helper()
	r.must(poll.Until(r.ctx, 2*time.Minute, fmt.Sprintf("%s to have Ready=%s", name, status), func(ctx context.Context) error {
		return cluster.NodeReady(ctx, r.Client, name, status)
	}))
}

func (r *restarted) incidents(ctx context.Context, url string) ([]lastingIncident, error) {
	var got struct{ Incidents []lastingIncident }
	err := fetch.JSON(ctx, url+"/api/v1/incidents", &got)
	return got.Incidents, err
}

func allEnded(all []lastingIncident, err error) error {
	for _, x := range all {
		if x.State != "ended" {
			err = errors.Join(err, fmt.Errorf("the incident of %s is %s", x.Subject, x.State))
		}
	}
	return err
}

// alike checks that both instances report the same incidents.
func (r *restarted) alike(when string) {
	r.t.Helper()
	want, err := r.incidents(r.ctx, r.witnessURL)
	r.must(err)
	got, err := r.incidents(r.ctx, r.keptURL)
	r.must(err)
	if len(want) != len(got) {
		r.t.Errorf("%s: got %d incidents, want %d", when, len(got), len(want))
	}
	for _, x := range want {
		i := slices.IndexFunc(got, func(y lastingIncident) bool { return y.ID == x.ID })
		if i < 0 {
			r.t.Errorf("%s: no incident %s of %s", when, x.ID, x.Subject)
			continue
		}
		if err := r.same(got[i], x); err != nil {
			r.t.Errorf("%s: the incident of %s differs: %v\nnot restarted: %+v\n    restarted: %+v", when, x.Subject, err, x, got[i])
		}
	}
}

// same compares an incident with the one that the witness reports. kubeflap did not see the recoveries of the node
// passing and the Service back, so their times may be anywhere in the gap.
func (r *restarted) same(got, want lastingIncident) error {
	var errs []error
	differs := func(what string, got, want any) {
		if got != want {
			errs = append(errs, fmt.Errorf("%s: got %v, want %v", what, got, want))
		}
	}
	differs("cause", got.Cause, want.Cause)
	if got.Verdict != "undecided" { // the verdict may depend on what happened during the restart
		differs("verdict", got.Verdict, want.Verdict)
	}
	// An instance that did not see the node's last heartbeat only knows when the node turned Unknown. That is up to a
	// monitor period (1 s) and a write after the grace period.
	differs("start", got.Start.Sub(want.Start).Abs().Seconds() <= apart, true)
	differs("nodes", fmt.Sprint(got.Nodes), fmt.Sprint(want.Nodes))
	differs("addresses lost", got.AddressesLost, want.AddressesLost)
	differs("outages", got.Outages, want.Outages)
	if want.has(passing) || want.has(back) {
		differs("recovered", got.State == "recovered" || got.State == "ended", true)
		gap := r.started.Sub(r.stopped).Seconds()
		differs("outage seconds", math.Abs(got.OutageSeconds-want.OutageSeconds) <= gap, true)
		return errors.Join(errs...)
	}
	differs("state", got.State, want.State)
	differs("a gap in the timeline", slices.ContainsFunc(got.Timeline, func(x struct{ Lane string }) bool { return x.Lane == "blind" }), want.has(lasting) || want.has(down))
	if math.Abs(got.OutageSeconds-want.OutageSeconds) > apart {
		differs("outage seconds", got.OutageSeconds, want.OutageSeconds)
	}
	if want.End != nil && (got.End == nil || got.End.Sub(*want.End).Abs().Seconds() > apart) {
		differs("end", got.End, want.End)
	}
	return errors.Join(errs...)
}
