package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	s  = time.Second
	m  = time.Minute
	h  = time.Hour
	ok = 10200 * time.Millisecond
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// clusterOf returns a cluster with a known grace period, enough observed intervals, and what kubeflap decided about them:
// late nodes have just been silent through their own fault.
func clusterOf(grace time.Duration, longest ...time.Duration) cluster {
	g := advice.GracePeriod{Period: grace, Interval: 10 * s}
	for _, l := range longest {
		if l > g.LateThreshold() && l <= advice.LongestGrace {
			g.Longest = max(g.Longest, l)
		}
	}
	c := cluster{grace: g, source: controlplane.SourceControllerManager, now: now, intervals: 1000}
	for i, l := range longest {
		own := silence.Sum{Verdict: verdict.Node, Reason: verdict.Slow, Count: 1, Last: c.now, Longest: l}
		switch {
		case l > advice.LongestGrace:
			own.Reason = verdict.Down
		case l <= g.LateThreshold():
			own.Count, own.Last = 0, time.Time{}
		case l <= grace:
			own.Reason = verdict.Late
		}
		own.Node = "node-" + string(rune('1'+i))
		c.nodes = append(c.nodes, nodes.Node{Name: own.Node, LongestInterval: l, HeartbeatKnown: true})
		c.silences = append(c.silences, own)
	}
	return c
}

func but(c cluster, change func(*cluster)) cluster {
	change(&c)
	return c
}

// decided replaces the verdict on the late nodes, which is that of their incident.
func decided(v verdict.Verdict, c cluster) cluster {
	for i := range c.silences {
		c.silences[i].Verdict, c.silences[i].Reason = v, verdict.NoReason
	}
	c.grace.Longest = 0
	return c
}

// silent returns a cluster with a silence of node-2, or several equal ones, the last of them some time ago.
func silent(longest time.Duration, v verdict.Verdict, r verdict.Reason, count uint64, ago time.Duration) cluster {
	c := clusterOf(40*s, ok, ok, ok)
	c.nodes[1].LateHeartbeats, c.nodes[1].MissedHeartbeats = 9, 9
	c.silences[1] = silence.Sum{Node: "node-2", Verdict: v, Reason: r, Count: count, Longest: longest, Last: now.Add(-ago).In(time.FixedZone("", 3600))}
	return c
}

// given returns the advice without a comparison of grace periods.
func given(c cluster) Report { return adviseOn(&c, controlplane.Table{}) }

// findings returns the recommendations, each on one line.
func findings(r Report) (all []string) {
	for _, x := range r.Recommendations {
		var nodes []string
		for _, n := range x.Nodes {
			nodes = append(nodes, n.Node+n.Last.Format(" 2006-01-02T15:04Z07:00"))
		}
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %s %s", x.Severity, x.Kind, x.Service), " ")+
			fmt.Sprintf(" | nodes %s | recommended %gs | set %s | observed %s | advice %s | why %s", strings.Join(nodes, ","), time.Duration(x.Recommended).Seconds(), x.Set, x.Observed, x.Advice, x.Why))
	}
	return all
}

// check compares the recommendations on a cluster with their expected texts: the severity, the kind and the Service, and
// other parts after an ellipsis.
func check(t *testing.T, name string, c cluster, want ...string) {
	t.Helper()
	r := given(c)
	got := findings(r)
	if len(got) != len(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		return
	}
	advised := false
	for i, x := range want {
		parts := strings.Split(x, " ... ")
		advised = advised || !strings.HasPrefix(x, note)
		for j, part := range parts {
			if j == 0 && !strings.HasPrefix(got[i], part+" | ") || !strings.Contains(got[i], part) {
				t.Errorf("%s: no %q in\n%s", name, part, got[i])
			}
		}
	}
	if r.Advice != advised {
		t.Errorf("%s: advice %v", name, r.Advice)
	}
}

// told is a cluster with its expected recommendations.
type told struct {
	name string
	c    cluster
	want []string
}

func TestGracePeriod(t *testing.T) {
	const slow, tight = "bad nodes_slow", "warning grace_period_tight"
	managed := but(clusterOf(40*s, ok, 50*s, ok), func(c *cluster) { c.grace.Managed = true })
	from := func(source controlplane.Source) cluster {
		return but(clusterOf(50*s, ok, ok), func(c *cluster) { c.source = source })
	}
	assumed := but(clusterOf(40*s, ok, 50*s, ok), func(c *cluster) { c.source = controlplane.SourceDefault })
	every := func(interval time.Duration, c cluster) cluster {
		c.grace.Interval = interval
		return c
	}
	for _, c := range []told{
		{"a healthy cluster needs no advice", clusterOf(50*s, ok, ok, ok), nil},
		{"below two renewals nothing is safe", clusterOf(19*s, ok, ok), []string{"bad grace_period_unsafe ... recommended 50s"}},
		{"as short as the heartbeat", clusterOf(10*s, ok, ok), []string{"bad grace_period_unsafe ... recommended 50s ... observed no slow nodes; no renewals fit into the grace period"}},
		{"two renewals, none may be missed", clusterOf(20*s, ok, ok), []string{tight + " ... recommended 50s ... observed no slow nodes; 1 renewal fits into the grace period"}},
		{"an interval over half of it", clusterOf(40*s, ok, 21*s, ok), []string{tight + " ... recommended 60s ... observed the longest gap (21s) was within the grace period (40s)", "warning nodes_slow"}},
		{
			"an interval over all of it", clusterOf(40*s, ok, 42*s, ok),
			[]string{"bad grace_period_tight ... recommended 90s ... advice --node-monitor-grace-period=90s on each kube-controller-manager, until the slow nodes are fixed", slow + " ... A longer grace period helps until these nodes are fixed"},
		},
		{"twice the longest is rounded up to 10 s", clusterOf(40*s, ok, 30100*time.Millisecond, ok), []string{tight + " ... recommended 70s", "warning nodes_slow"}},
		{"no more is recommended than detects a dead node in time", clusterOf(40*s, ok, 100*s, ok), []string{"bad grace_period_tight ... recommended 120s", slow}},
		{"what is as long as makes sense is not raised", clusterOf(150*s, ok, 100*s, ok), []string{tight + " ... recommended 0s ... leave the grace period at 2m30s", "warning nodes_slow"}},
		{"every 20 s, 30 s are too short", every(20*s, clusterOf(30*s, 20800*time.Millisecond, 20800*time.Millisecond)), []string{"bad grace_period_unsafe ... recommended 50s", "warning nodes_slow"}},
		{"so long that dead nodes are found late", clusterOf(600*s, ok, ok), []string{"note grace_period_long ... recommended 120s"}},
		{"a heartbeat every 4 s may be missed once in 16 s", every(4*s, clusterOf(16*s, 4200*time.Millisecond, 4200*time.Millisecond)), nil},
		{"nobody can set it", managed, []string{"bad grace_period_tight ... recommended 0s ... you cannot set this flag on a managed control plane", slow}},
		{"read from kubeflap's flag", from(controlplane.SourceFlag), nil},
		{"measured", from(controlplane.SourceObserved), []string{"note grace_period_source ... up to 10 s shorter"}},
		{"assumed", from(controlplane.SourceDefault), []string{"note grace_period_source ... only assumed to be the default"}},
		{"assumed, and too short", assumed, []string{"bad grace_period_tight ... recommended 100s ... first check the current value ... only assumed to be the default", slow}},
		{"no nodes", clusterOf(50 * s), []string{"note few_heartbeats"}},
		{"nothing known", cluster{}, []string{"note grace_period_source", "note few_heartbeats ... observed no heartbeat intervals of no nodes"}},
	} {
		check(t, c.name, c.c, c.want...)
	}
}

func TestNodes(t *testing.T) {
	const tight = "warning grace_period_tight"
	for _, c := range []told{
		{
			"only the first few nodes are named", clusterOf(50*s, 30*s, 31*s, 32*s, 33*s, 34*s, 35*s, 36*s, ok, ok),
			[]string{tight, "warning nodes_slow ... observed 7 of 9 nodes: node-7 (36s, until 2026-03-02 12:00 UTC), node-6 (35s, ... , and 2 more | ... ,node-1 "},
		},
		{"all nodes late together are the control plane", decided(verdict.SharedPath, clusterOf(50*s, 55*s, 56*s, 57*s)), []string{"bad control_plane_late ... Check etcd's disk and load first"}},
		{
			"only some of them", decided(verdict.SharedPath, clusterOf(50*s, ok, 55*s, 56*s, 57*s, ok, ok)),
			[]string{"bad control_plane_late ... advice Check what only these nodes share ... an overloaded etcd rejects some writes"},
		},
		{"a node that is down is no reason for a longer grace period", clusterOf(50*s, ok, ok, 600*s), []string{"warning nodes_silent ... node-3 (10m, until ... The node or its kubelet was down"}},
		{"late nine times, and nothing was decided", silent(52*s, verdict.Node, verdict.Slow, 0, 0), nil},
		{"a shared path, 13 minutes ago", silent(52*s, verdict.SharedPath, verdict.NoReason, 3, 13*m), []string{"bad control_plane_late ... node-2 (3 times, up to 52s, the last until 2026-03-02 11:47 UTC)"}},
		{"a silence of unknown length", silent(0, verdict.SharedPath, verdict.NoReason, 1, 5*m), []string{"bad control_plane_late ... node-2 (until 2026-03-02 11:55 UTC)"}},
		{"a shared path within the grace period", silent(30*s, verdict.SharedPath, verdict.Late, 1, h), []string{"warning control_plane_late ... node-2 (30s, until 2026-03-02 11:00 UTC)"}},
		{"the controller manager, hours ago", silent(ok, verdict.ControllerManager, verdict.NoReason, 1, 5*h), []string{"bad controller_manager_slow ... until 2026-03-02 07:00 UTC ... heartbeats of node-2 were on time"}},
		{"a silent node that was left Ready", silent(3*m, verdict.ControllerManager, verdict.LeftReady, 1, 5*h), []string{"bad controller_manager_slow ... node-2 (3m, until ... Then check the machine, the network and the kubelet of node-2"}},
		{"a reboot, hours ago", silent(ok, verdict.NodeRebooted, verdict.NoReason, 1, 5*h), []string{"warning nodes_rebooted ... until 2026-03-02 07:00 UTC"}},
		{"undecided, hours ago", silent(ok, verdict.Undecided, verdict.NoReason, 1, 5*h), []string{"warning undecided ... until 2026-03-02 07:00 UTC"}},
		{"planned", silent(ok, verdict.Planned, verdict.NoReason, 5, 5*m), nil},
		{"a grace period that is too short", silent(ok, verdict.GracePeriod, verdict.NoReason, 500, m), nil},
		{"a slow kubelet, hours ago", silent(50*s, verdict.Node, verdict.Slow, 1, 5*h), []string{"bad nodes_slow ... node-2 (50s, until 2026-03-02 07:00 UTC)"}},
		{"a late heartbeat, hours ago", silent(30*s, verdict.Node, verdict.Late, 2, 5*h), nil},
		{"three late heartbeats", silent(30*s, verdict.Node, verdict.Late, 3, 5*h), []string{"warning nodes_slow ... node-2 (3 times, up to 30s, the last until 2026-03-02 07:00 UTC)"}},
		{"a late heartbeat just now", silent(30*s, verdict.Node, verdict.Late, 1, m), []string{"warning nodes_slow ... node-2 (30s, "}},
		{"an upgrade, hours ago", silent(ok, verdict.Node, verdict.Upgraded, 1, 5*h), []string{"warning kubelets_upgraded ... until 2026-03-02 07:00 UTC"}},
		{"a clock that was set back, hours ago", silent(ok, verdict.Node, verdict.ClockSetBack, 1, 5*h), []string{"warning clocks_set_back ... until 2026-03-02 07:00 UTC"}},
		{"a reboot in an incident of the node", silent(ok, verdict.Node, verdict.Rebooted, 1, 5*h), nil},
	} {
		check(t, c.name, c.c, c.want...)
	}
}

func TestServicesAndUpdates(t *testing.T) {
	of := func(name string, conflict bool, resets uint64) services.Service {
		return services.Service{Namespace: "a", Name: name, Manual: true, SelectorConflict: conflict, Counters: services.Counters{ResetsWithSelector: resets}}
	}
	conflicts := []services.Service{of("conflict", true, 0), of("burst", true, 1), of("mended", false, 3)}
	updated := func(n pods.Namespace, lossesIn string) cluster {
		x := services.Service{Namespace: lossesIn, Name: "web"}
		x.Losses[cause.InPlaceUpdate] = 4
		n.Name, n.InPlaceUpdates = "shop", 4
		return but(clusterOf(50*s, ok), func(c *cluster) { c.services, c.namespaces = []services.Service{x}, []pods.Namespace{n} })
	}
	ungated, update := pods.Namespace{UngatedUpdates: 4}, "warning inplace_updates ... "
	for _, c := range []told{
		{"Services", but(clusterOf(50*s, ok), func(c *cluster) { c.services = conflicts }), []string{
			"bad selector_conflict burst ... removed once ... then write the Endpoints again", "warning selector_conflict conflict ... still there",
		}},
		{"pods without a gate get one", updated(ungated, "shop"), []string{update + "give these pods a readiness gate"}},
		{"a gate is turned too late", updated(pods.Namespace{}, "shop"), []string{update + "set their readiness gate to False before"}},
		{"restarts that no Endpoints show", updated(pods.Namespace{UngatedUpdates: 4, SilentRestarts: 4}, "other"), []string{update + "give these pods"}},
		{"losses in another namespace", updated(ungated, "other"), nil},
	} {
		check(t, c.name, c.c, c.want...)
	}
}

func TestSettings(t *testing.T) {
	flags := func(f event.ControllerManagerFlags) cluster {
		return but(clusterOf(50*s, ok, ok), func(c *cluster) { c.flags = f })
	}
	period := func(d time.Duration) cluster { return flags(event.ControllerManagerFlags{MonitorPeriod: d}) }
	timeout := func(d time.Duration) cluster { return flags(event.ControllerManagerFlags{EvictionTimeout: d}) }
	of := "note controller_manager_flag ... set --"
	for _, c := range []told{
		{"the default monitor period", period(5 * s), nil},
		{"that of the profile fast", period(2 * s), nil},
		{"a long monitor period", period(20 * s), []string{of + "node-monitor-period=20s ... 2s in fast ... up to 40s late"}},
		{"a long monitor period, and a node was lost", but(period(20*s), func(c *cluster) { c.nodes[0].MissedHeartbeats = 1 }), []string{"warning controller_manager_flag ... set --node-monitor-period=20s"}},
		{"early evictions", timeout(30 * s), []string{of + "pod-eviction-timeout=30s ... 5m by default ... set 5m ... returns after 30s"}},
		{"evictions after the default time", timeout(300 * s), nil},
		{
			"a resource that is not watched", but(clusterOf(50*s, ok), func(c *cluster) { c.unwatched = []watches.Watch{{Resource: event.KindLease, Unavailable: "forbidden"}} }),
			[]string{"note not_watched ... set the watch of leases: forbidden"},
		},
	} {
		check(t, c.name, c.c, c.want...)
	}
}

func TestProfilesCostByTheNumberOfNodes(t *testing.T) {
	var text strings.Builder
	WriteText(&text, given(cluster{nodes: make([]nodes.Node, 1000)}))
	for profile, want := range map[string]string{"default": "6000 a minute", "fast": "15000 a minute +1: none may be missed", "medium": "3000 a minute", "slow": "1000 a minute"} {
		if !regexp.MustCompile("\n  " + profile + " .* " + want).MatchString(text.String()) {
			t.Errorf("want %s: %s\n%s", profile, want, &text)
		}
	}
}

// TestTextWithoutAnInterval checks that an interval that has not ended does not count as observed.
func TestTextWithoutAnInterval(t *testing.T) {
	c := clusterOf(40*s, 4*s)
	c.intervals = 0
	var text strings.Builder
	WriteText(&text, given(c))
	if want := "1 node, grace period 40s, no complete heartbeat interval observed\n"; !strings.HasPrefix(text.String(), want) {
		t.Errorf("want %q:\n%s", want, &text)
	}
}
