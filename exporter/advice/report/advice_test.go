package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// seen returns a histogram of intervals of 10 s.
func seen(intervals uint64) *dto.Histogram {
	h := &dto.Histogram{SampleCount: &intervals}
	for _, b := range []struct {
		bound float64
		count uint64
	}{{1, 0}, {9.5, 0}, {10.5, intervals}, {60, intervals}, {120, intervals}} {
		h.Bucket = append(h.Bucket, &dto.Bucket{UpperBound: &b.bound, CumulativeCount: &b.count})
	}
	return h
}

// clusterOf returns a cluster with a known grace period, enough observed intervals, and what kubeflap decided about them:
// late nodes have just been silent through their own fault.
func clusterOf(grace time.Duration, longest ...time.Duration) cluster {
	g := advice.GracePeriod{Period: grace, Interval: 10 * s}
	c := cluster{grace: g, graceSource: controlplane.SourceControllerManager, now: now, intervals: seen(1000)}
	for i, l := range longest {
		own := silence.Sum{Verdict: verdict.Node, Reason: verdict.Slow, Count: 1, Last: c.now}
		switch {
		case l > advice.LongestGrace:
			own.Reason = verdict.Down
		case l <= g.LateThreshold():
			own.Count, own.Last = 0, time.Time{}
		case l <= grace:
			own.Reason = verdict.Late
			fallthrough
		default:
			g.Longest = max(g.Longest, l)
		}
		c.nodes = append(c.nodes, node{Node: nodes.Node{Name: "node-" + string(rune('1'+i)), LongestInterval: l}, silences: []silence.Sum{own}})
	}
	c.recommended = g.Recommended()
	return c
}

// decided replaces the verdict on the late nodes, which is that of their incident.
func decided(v verdict.Verdict, c cluster) cluster {
	for i := range c.nodes {
		n := &c.nodes[i]
		if own := &n.silences[0]; own.Count > 0 {
			own.Verdict, own.Reason, n.verdicts = v, verdict.NoReason, []verdict.Verdict{v}
		}
	}
	c.recommended = 0
	return c
}

const (
	s  = time.Second
	ok = 10200 * time.Millisecond
)

func TestGracePeriodIsJudgedByTheIntervals(t *testing.T) {
	cases := []struct {
		name      string
		c         cluster
		kind      string
		severity  string
		recommend float64
	}{
		{"below two renewals nothing is safe", clusterOf(19*s, ok, ok), "grace_period_unsafe", bad, 50},
		{"as short as the heartbeat", clusterOf(10*s, ok, ok), "grace_period_unsafe", bad, 50},
		{"two renewals, none may be missed", clusterOf(20*s, ok, ok), "grace_period_tight", warning, 50},
		{"an interval over half of it", clusterOf(40*s, ok, 21*s, ok), "grace_period_tight", warning, 60},
		{"an interval over all of it", clusterOf(40*s, ok, 42*s, ok), "grace_period_tight", bad, 90},
		{"twice the longest is rounded up to 10 s", clusterOf(40*s, ok, 30100*time.Millisecond, ok), "grace_period_tight", warning, 70},
		{"no more is recommended than detects a dead node in time", clusterOf(40*s, ok, 100*s, ok), "grace_period_tight", bad, 120},
		{"what is as long as makes sense is not raised", clusterOf(150*s, ok, 100*s, ok), "grace_period_tight", warning, 0},
		{"every 20 s, 30 s are too short", recommended(50*s, 20*s, clusterOf(30*s, 20800*time.Millisecond, 20800*time.Millisecond)), "grace_period_unsafe", bad, 50},
		{"so long that dead nodes are found late", clusterOf(600*s, ok, ok), "grace_period_long", note, 120},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			x := recommendation(t, given(c.c), c.kind)
			if x.Severity != c.severity || x.Recommended != c.recommend {
				t.Errorf("%s, recommends %v; want %s, %v", x.Severity, x.Recommended, c.severity, c.recommend)
			}
		})
	}
}

// recommended sets a cluster's recommended grace period (0 for none) and heartbeat interval.
func recommended(to, interval time.Duration, c cluster) cluster {
	c.recommended, c.grace.Interval = to, interval
	return c
}

func TestAdviceRepeatsTheRecommendedGracePeriod(t *testing.T) {
	managed := recommended(0, 10*s, clusterOf(40*s, ok, 50*s, ok))
	managed.grace.Managed = true
	cases := []struct {
		name   string
		c      cluster
		want   []string
		advice string
	}{
		{"as an incident of an hour ago recommends", recommended(110*s, 10*s, clusterOf(40*s, ok, ok, ok)), []string{"grace_period_tight"}, "--node-monitor-grace-period=1m50s"},
		{"a heartbeat every 4 s may be missed once in 16 s", recommended(0, 4*s, clusterOf(16*s, 4200*time.Millisecond, 4200*time.Millisecond)), nil, ""},
		{"no other grace period is recommended", recommended(0, 10*s, clusterOf(40*s, 25*s, 25*s, ok)), []string{"grace_period_tight", "nodes_slow"}, "leave the grace period at 40s"},
		{"nobody can set it", managed, []string{"grace_period_tight", "nodes_slow"}, "you cannot set this flag on a managed control plane"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := given(c.c)
			if got := kinds(r); !slices.Equal(got, c.want) {
				t.Fatalf("recommendations %v, want %v", got, c.want)
			}
			if len(c.want) > 0 && !strings.Contains(r.Recommendations[0].Advice, c.advice) {
				t.Errorf("advice %q, want %q", r.Recommendations[0].Advice, c.advice)
			}
		})
	}
}

// given returns the advice without a comparison of grace periods.
func given(c cluster) Report { return adviseOn(&c, controlplane.Table{}) }

func recommendation(t *testing.T, r Report, kind string) Recommendation {
	t.Helper()
	i := slices.IndexFunc(r.Recommendations, func(x Recommendation) bool { return x.Kind == kind })
	if i < 0 {
		t.Fatalf("no %s, but %v", kind, kinds(r))
	}
	return r.Recommendations[i]
}

func kinds(r Report) (all []string) {
	for _, x := range r.Recommendations {
		all = append(all, x.Kind)
	}
	return all
}

func TestWhoIsLate(t *testing.T) {
	cases := []struct {
		name string
		c    cluster
		want []string
	}{
		{"a healthy cluster needs no advice", clusterOf(50*s, ok, ok, ok), nil},
		{"one node is slow", clusterOf(50*s, ok, 30*s, ok), []string{"grace_period_tight", "nodes_slow"}},
		{"all nodes late together are the control plane", decided(verdict.SharedPath, clusterOf(50*s, 60*s, 62*s, 61*s)), []string{"control_plane_late"}},
		{"a node that is down is no reason for a longer grace period", clusterOf(50*s, ok, ok, 600*s), []string{"nodes_silent"}},
		{"no nodes", clusterOf(50 * s), []string{"few_heartbeats"}},
		{"nothing known", cluster{}, []string{"few_heartbeats", "grace_period_source"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := kinds(given(c.c)); !slices.Equal(got, c.want) {
				t.Errorf("recommendations %v, want %v", got, c.want)
			}
		})
	}
}

// TestAnIntervalOfLongAgoIsObserved checks that the advice names the interval that a recommendation comes from, if it is
// no longer among the longest intervals of the nodes.
func TestAnIntervalOfLongAgoIsObserved(t *testing.T) {
	x := recommendation(t, given(recommended(60*s, 10*s, clusterOf(40*s, ok, ok, ok))), "grace_period_tight")
	if x.Recommended != 60 || !strings.Contains(x.Observed, "up to 30s (more than ten minutes ago)") {
		t.Errorf("recommends %v, observed %s", x.Recommended, x.Observed)
	}
}

func TestOnlyTheFirstFewNodesAreNamed(t *testing.T) {
	c := clusterOf(50*s, 30*s, 31*s, 32*s, 33*s, 34*s, 35*s, 36*s, ok, ok)
	x := recommendation(t, given(c), "nodes_slow")
	if want := "7 of 9 nodes late: node-7 (36s), node-6 (35s), node-5 (34s), node-4 (33s), node-3 (32s), and 2 more"; x.Observed != want {
		t.Errorf("observed %q, want %q", x.Observed, want)
	}
	if len(x.Nodes) != 7 {
		t.Errorf("%d nodes listed, want all 7", len(x.Nodes))
	}
}

func TestSourceOfTheGracePeriodIsANoteUnlessItWasRead(t *testing.T) {
	for source, want := range map[controlplane.Source]bool{"flag": false, "controller_manager": false, "observed": true, "default": true} {
		c := clusterOf(50*s, ok, ok)
		c.graceSource = source
		r := given(c)
		if got := slices.Contains(kinds(r), "grace_period_source"); got != want {
			t.Errorf("source %s: noted %v, want %v", source, got, want)
		}
		if r.Advice {
			t.Errorf("source %s: a note counts as advice", source)
		}
	}
}

func TestProfilesCostByTheNumberOfNodes(t *testing.T) {
	var c cluster
	c.nodes = make([]node, 1000)
	want := map[string]float64{"default": 6000, "fast": 15000, "medium": 3000, "slow": 1000}
	for _, p := range given(c).Profiles {
		if p.StatusWrites != want[p.Name] {
			t.Errorf("%s: %v writes a minute, want %v", p.Name, p.StatusWrites, want[p.Name])
		}
		if p.Safe != (p.Name != "fast") {
			t.Errorf("%s: safe %v", p.Name, p.Safe)
		}
	}
}

func TestServicesWithManuallyManagedEndpoints(t *testing.T) {
	of := func(name string, conflict bool, counts losses.Counts, foreign int) services.Service {
		return services.Service{Namespace: "a", Name: name, Manual: true, SelectorConflict: conflict, Counts: counts, ForeignAddresses: foreign}
	}
	r := given(cluster{services: []services.Service{
		of("conflict", true, losses.Counts{}, 0),
		of("burst", true, losses.Counts{ResetsWithSelector: 1}, 0),
		of("mended", false, losses.Counts{ResetsWithSelector: 3}, 0),
		of("emptied", false, losses.Counts{ResetsSelectorless: 2}, 0),
		of("foreign", false, losses.Counts{}, 2),
		of("manual", true, losses.Counts{}, 1),
	}})
	var got []string
	for _, x := range r.Recommendations {
		if x.Service != "" {
			got = append(got, x.Severity+" "+x.Kind+" "+x.Service)
		}
	}
	want := []string{"bad selector_conflict burst", "warning selector_conflict conflict", "warning endpoints_emptied emptied", "warning foreign_addresses foreign", "warning selector_conflict manual"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestInPlaceUpdates(t *testing.T) {
	lost := func(namespace string) []services.Service {
		x := services.Service{Namespace: namespace, Name: "web"}
		x.Bounces, x.Losses[cause.InPlaceUpdate] = 4, 4
		return []services.Service{x}
	}
	type byWindow = [transition.NumWindows]uint64
	web, updates := lost("shop"), pods.Counts{InPlaceUpdates: 4}
	cases := []struct {
		name            string
		n               pods.Counts
		hit             []services.Service
		bounces, readds byWindow
		advice          string
	}{
		{"pods without a gate get one", pods.Counts{InPlaceUpdates: 4, UngatedUpdates: 4}, web, byWindow{}, byWindow{}, "give these pods a readiness gate"},
		{"a gate is turned too late", updates, web, byWindow{}, byWindow{}, "set their readiness gate to False before"},
		{"restarts that no Endpoints show", pods.Counts{InPlaceUpdates: 4, UngatedUpdates: 4, SilentRestarts: 4}, nil, byWindow{}, byWindow{}, "give these pods"},
		{"a window hides it", updates, web, byWindow{4, 2, 0, 0}, byWindow{}, "batch updates for 5s; either would have hidden"},
		{"no window hides it", updates, web, byWindow{4, 4, 3, 2}, byWindow{}, "batching updates for 10s does not hide the bounces"},
		{
			"a window hides stale re-adds, and the controllers' batching comes first", updates, web,
			byWindow{},
			byWindow{3, 2},
			"--endpointslice-updates-batch-period and --endpoint-updates-batch-period of the kube-controller-manager to 5s; only if you cannot set these flags, " +
				"let the clients of the Endpoints batch updates for 5s; either would have hidden the stale re-adds",
		},
		{
			"a shorter window that hides them by chance is not recommended", updates, web,
			byWindow{0, 0, 1, 0},
			byWindow{0, 2, 0, 0},
			"batch updates for 10s; either would have hidden the bounces and stale re-adds",
		},
		{"updates that a gate hid", updates, nil, byWindow{}, byWindow{}, ""},
		{"losses in another namespace", updates, lost("other"), byWindow{}, byWindow{}, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := given(cluster{
				services: c.hit, namespaces: []pods.Namespace{{Name: "shop", Counts: c.n}}, consumers: []services.Namespace{{Name: "shop", Bounces: c.bounces}},
				readds: []services.StaleReadds{{Service: transition.Service{Namespace: "shop", Name: "web"}, ByWindow: c.readds}},
			})
			if c.advice == "" {
				if r.Advice {
					t.Errorf("advice %v", kinds(r))
				}
			} else if x := recommendation(t, r, "inplace_updates"); !strings.Contains(x.Advice, c.advice) {
				t.Errorf("advice %q, want %q in it", x.Advice, c.advice)
			}
		})
	}
}

func TestWhatIsNotWatchedIsSaid(t *testing.T) {
	x := recommendation(t, given(cluster{unwatched: []watches.Watch{{Resource: event.KindLease, Unavailable: "forbidden"}}}), "not_watched")
	if x.Set != "the watch of leases: forbidden" {
		t.Errorf("set %q", x.Set)
	}
}

func TestAdviceRepeatsTheVerdictsOfIncidents(t *testing.T) {
	for _, c := range []struct {
		name     string
		verdicts []verdict.Verdict
		want     []string
	}{
		{"planned", []verdict.Verdict{verdict.Planned}, nil},
		{"rebooted", []verdict.Verdict{verdict.NodeRebooted}, []string{"nodes_rebooted"}},
		{"a shared path", []verdict.Verdict{verdict.SharedPath}, []string{"control_plane_late"}},
		{"the controller manager", []verdict.Verdict{verdict.ControllerManager}, []string{"controller_manager_slow"}},
		{"undecided", []verdict.Verdict{verdict.Undecided}, []string{"undecided"}},
	} {
		x := decided(verdict.Planned, clusterOf(50*s, ok, 55*s, ok))
		x.nodes[1].verdicts = c.verdicts
		r := given(x)
		if got := kinds(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if len(c.want) == 1 && (len(r.Recommendations[0].Nodes) != 1 || r.Recommendations[0].Nodes[0].Node != "node-2") {
			t.Errorf("%s: nodes %v", c.name, r.Recommendations[0].Nodes)
		}
	}
}

func TestSettingsAreComparedWithTheProfiles(t *testing.T) {
	flags := func(name string, v float64) cluster {
		c := clusterOf(50*s, ok, ok)
		c.flags = []controlplane.Flag{{Name: name, Value: v}}
		return c
	}
	lost := flags("kube-api-qps", 5)
	lost.nodes[0].MissedHeartbeats = 1
	tolerations := clusterOf(50*s, ok, ok)
	tolerations.short = []pods.ShortTolerations{{Namespace: "cart", Pods: 2, Shortest: 30 * s}, {Namespace: "shop", Pods: 10, Shortest: 10 * s}}
	cases := []struct {
		name          string
		c             cluster
		want          []string
		severity      string
		set, why, saw string
	}{
		{"the default monitor period", flags("node-monitor-period", 5), nil, "", "", "", ""},
		{"that of the profile fast", flags("node-monitor-period", 2), nil, "", "", "", ""},
		{"a long monitor period", flags("node-monitor-period", 20), []string{"controller_manager_flag"}, note, "--node-monitor-period=20s", "up to 40s late", "2s in fast"},
		{"more requests than by default", flags("kube-api-qps", 50), nil, "", "", "", ""},
		{"fewer, and a node was lost", lost, []string{"controller_manager_flag"}, warning, "--kube-api-qps=5", "110 pods take 22s", "20 a second"},
		{"a small burst", flags("kube-api-burst", 10), []string{"controller_manager_flag"}, note, "--kube-api-burst=10", "beyond the burst", "30 by default"},
		{"no limit", flags("kube-api-qps", -1), nil, "", "", "", ""},
		{"one worker", flags("concurrent-service-endpoint-syncs", 1), []string{"controller_manager_flag"}, note, "--concurrent-service-endpoint-syncs=1", "dead addresses", "5 by default"},
		{"no evictions", flags("node-eviction-rate", 0), []string{"controller_manager_flag"}, note, "--node-eviction-rate=0", "only one node in each zone: the first that is not Ready", "0.1 nodes"},
		{"many evictions", flags("node-eviction-rate", 10), []string{"controller_manager_flag"}, note, "--node-eviction-rate=10", "within seconds", "0.1 nodes"},
		{"batching differs from nothing", flags("endpoint-updates-batch-period", 1), nil, "", "", "", ""},
		{"pods leave after 10 s", tolerations, []string{"short_tolerations"}, note, "tolerationSeconds of 10s", "these pods are already evicted", "12 pods with at most 1m, in cart (2, 30s), shop (10, 10s); the default is 5m, and the profiles set 30s (fast)"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := given(c.c)
			if got := kinds(r); !slices.Equal(got, c.want) {
				t.Fatalf("recommendations %v, want %v", got, c.want)
			}
			if len(c.want) == 0 {
				return
			}
			x := r.Recommendations[0]
			if x.Severity != c.severity || !strings.Contains(x.Set, c.set) || !strings.Contains(x.Why, c.why) || !strings.Contains(x.Observed, c.saw) {
				t.Errorf("%+v", x)
			}
		})
	}
}

func TestAdviceOnASharedPathAsksWhatOnlyTheseNodesShare(t *testing.T) {
	some, all := decided(verdict.SharedPath, clusterOf(50*s, ok, 55*s, 56*s, 57*s, ok, ok)), decided(verdict.SharedPath, clusterOf(50*s, 55*s, 56*s, 57*s))
	if x := recommendation(t, given(some), "control_plane_late"); !strings.Contains(x.Advice, "the other 3 nodes are on time, etcd works") || strings.Contains(x.Advice, "etcd first") {
		t.Errorf("some nodes: %s", x.Advice)
	}
	if x := recommendation(t, given(all), "control_plane_late"); !strings.Contains(x.Advice, "etcd first") {
		t.Errorf("all nodes: %s", x.Advice)
	}
}

// TestTextWithoutAnInterval checks that an interval that has not ended does not count as observed.
func TestTextWithoutAnInterval(t *testing.T) {
	c := clusterOf(40*s, 4*s)
	c.intervals = seen(0)
	var text strings.Builder
	WriteText(&text, given(c))
	if want := "1 node, grace period 40s, no complete heartbeat interval observed\n"; !strings.HasPrefix(text.String(), want) {
		t.Errorf("want %q:\n%s", want, &text)
	}
}
