package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// withSilences returns a cluster with the given silences of node-2.
func withSilences(longest time.Duration, silences ...silence.Sum) cluster {
	c := recommended(0, 10*s, clusterOf(40*s, ok, longest, ok))
	for i := range c.nodes {
		c.nodes[i].silences = []silence.Sum{{Verdict: verdict.Node, Reason: verdict.Slow}}
	}
	n := &c.nodes[1]
	n.LateHeartbeats, n.MissedHeartbeats, n.silences = 9, 9, append(n.silences, silences...)
	return c
}

func TestAdviceRepeatsWhatWasDecidedAboutSilences(t *testing.T) {
	const m, h = time.Minute, time.Hour
	of := func(v verdict.Verdict, r verdict.Reason, count uint64, ago time.Duration) silence.Sum {
		return silence.Sum{Verdict: v, Reason: r, Count: count, Last: now.Add(-ago)}
	}
	for _, c := range []struct {
		name     string
		c        cluster
		want     []string
		severity string
		observed string
	}{
		{"late nine times, and nothing was decided", withSilences(ok), nil, "", ""},
		{"a shared path, 13 minutes ago", withSilences(ok, of(verdict.SharedPath, verdict.NoReason, 3, 13*m)), []string{"control_plane_late"}, bad, "node-2 (3 times, most recently at 2026-03-02 11:47 UTC)"},
		{"a shared path, five minutes ago", withSilences(52*s, of(verdict.SharedPath, verdict.NoReason, 3, 5*m)), []string{"control_plane_late"}, bad, "node-2 (52s)"},
		{"a shared path within the grace period", withSilences(ok, of(verdict.SharedPath, verdict.Late, 1, h)), []string{"control_plane_late"}, warning, "node-2 (at 2026-03-02 11:00 UTC)"},
		{"a shared path, two days ago", withSilences(ok, of(verdict.SharedPath, verdict.NoReason, 1, 48*h)), []string{"control_plane_late"}, note, "node-2 (at 2026-02-28 12:00 UTC)"},
		{"the controller manager, hours ago", withSilences(ok, of(verdict.ControllerManager, verdict.NoReason, 1, 5*h)), []string{"controller_manager_slow"}, bad, "at 2026-03-02 07:00 UTC"},
		{"a reboot, hours ago", withSilences(ok, of(verdict.NodeRebooted, verdict.NoReason, 1, 5*h)), []string{"nodes_rebooted"}, warning, "at 2026-03-02 07:00 UTC"},
		{"undecided, hours ago", withSilences(ok, of(verdict.Undecided, verdict.NoReason, 1, 5*h)), []string{"undecided"}, warning, "at 2026-03-02 07:00 UTC"},
		{"planned", withSilences(ok, of(verdict.Planned, verdict.NoReason, 5, 5*m)), nil, "", ""},
		{"a grace period that is too short", withSilences(ok, of(verdict.GracePeriod, verdict.NoReason, 500, m)), nil, "", ""},
		{"a slow kubelet, hours ago", withSilences(ok, of(verdict.Node, verdict.Slow, 1, 5*h)), []string{"nodes_slow"}, bad, "node-2 (at 2026-03-02 07:00 UTC)"},
		{"a slow kubelet, two days ago", withSilences(ok, of(verdict.Node, verdict.Slow, 1, 48*h)), []string{"nodes_slow"}, note, "node-2 (at 2026-02-28 12:00 UTC)"},
		{"a late heartbeat, hours ago", withSilences(ok, of(verdict.Node, verdict.Late, 2, 5*h)), nil, "", ""},
		{"three late heartbeats", withSilences(ok, of(verdict.Node, verdict.Late, 3, 5*h)), []string{"nodes_slow"}, warning, "node-2 (3 times, most recently at 2026-03-02 07:00 UTC)"},
		{"a late heartbeat just now", withSilences(30*s, of(verdict.Node, verdict.Late, 1, m)), []string{"grace_period_tight", "nodes_slow"}, warning, "node-2 (30s)"},
		{"late just now, and nothing was decided", withSilences(30 * s), nil, "", ""},
		{"down, hours ago", withSilences(ok, of(verdict.Node, verdict.Down, 1, 5*h)), []string{"nodes_silent"}, warning, "node-2 (at 2026-03-02 07:00 UTC)"},
		{"an upgrade, hours ago", withSilences(ok, of(verdict.Node, verdict.Upgraded, 1, 5*h)), []string{"kubelets_upgraded"}, warning, "node-2 (at 2026-03-02 07:00 UTC)"},
		{"a clock that was set back, hours ago", withSilences(ok, of(verdict.Node, verdict.ClockSetBack, 1, 5*h)), []string{"clocks_set_back"}, warning, "node-2 (at 2026-03-02 07:00 UTC)"},
		{"a reboot in an incident of the node", withSilences(ok, of(verdict.Node, verdict.Rebooted, 1, 5*h)), nil, "", ""},
	} {
		r := given(c.c)
		if got := kinds(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
			continue
		}
		if len(c.want) == 0 {
			continue
		}
		x := r.Recommendations[len(c.want)-1]
		if x.Severity != c.severity || !strings.Contains(x.Observed, c.observed) || len(x.Nodes) != 1 || x.Nodes[0].Node != "node-2" || x.Nodes[0].Last.IsZero() {
			t.Errorf("%s: %s %q %v, want %s %q", c.name, x.Severity, x.Observed, x.Nodes, c.severity, c.observed)
		}
	}
}

func TestNodesOfTwoDaysAgoAreANoteBesideThoseOfToday(t *testing.T) {
	sharedPath := func(ago time.Duration) silence.Sum {
		return silence.Sum{Verdict: verdict.SharedPath, Count: 1, Last: now.Add(-ago)}
	}
	c := withSilences(ok, sharedPath(48*time.Hour))
	c.nodes[0].silences = append(c.nodes[0].silences, sharedPath(time.Hour))
	r := given(c)
	if len(r.Recommendations) != 2 || r.Recommendations[0].Severity != bad || r.Recommendations[0].Nodes[0].Node != "node-1" ||
		r.Recommendations[1].Severity != note || r.Recommendations[1].Nodes[0].Node != "node-2" {
		t.Errorf("%+v", r.Recommendations)
	}
}

// TestTimesAreInUTC has a silence whose time is in the zone of the machine, as in a live cluster.
func TestTimesAreInUTC(t *testing.T) {
	c := withSilences(ok, silence.Sum{Verdict: verdict.SharedPath, Count: 1, Last: now.In(time.FixedZone("", 3600))})
	for _, x := range given(c).Recommendations {
		for _, n := range x.Nodes {
			if n.Last.Location() != time.UTC {
				t.Errorf("%s: %s", x.Kind, n.Last)
			}
		}
	}
}
