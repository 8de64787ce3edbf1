package report

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/verdict"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// judged returns a cluster with the given silences of node-2.
func judged(longest time.Duration, silences ...Silences) Cluster {
	c := recommended(0, 10*s, cluster(40*s, ok, longest, ok))
	for i := range c.Nodes {
		c.Nodes[i].Silences = []Silences{{Verdict: verdict.Node, Reason: verdict.Slow}}
	}
	n := &c.Nodes[1]
	n.Late, n.Missed, n.Silences = 9, 9, append(n.Silences, silences...)
	return c
}

func TestAdviceRepeatsWhatWasDecidedAboutSilences(t *testing.T) {
	const m, h = time.Minute, time.Hour
	of := func(v verdict.Verdict, r verdict.Reason, count uint64, ago time.Duration) Silences {
		return Silences{v, r, count, now.Add(-ago)}
	}
	for _, c := range []struct {
		name     string
		c        Cluster
		want     []Kind
		severity Severity
		observed string
	}{
		{"late nine times, and nothing was decided", judged(ok), nil, "", ""},
		{"a shared path, 13 minutes ago", judged(ok, of(verdict.SharedPath, verdict.NoReason, 3, 13*m)), []Kind{ControlPlaneLate}, Bad, "node-2 (3 times, most recently at 2026-03-02 11:47 UTC)"},
		{"a shared path, five minutes ago", judged(52*s, of(verdict.SharedPath, verdict.NoReason, 3, 5*m)), []Kind{ControlPlaneLate}, Bad, "node-2 (52s)"},
		{"a shared path within the grace period", judged(ok, of(verdict.SharedPath, verdict.Late, 1, h)), []Kind{ControlPlaneLate}, Warning, "node-2 (at 2026-03-02 11:00 UTC)"},
		{"a shared path, two days ago", judged(ok, of(verdict.SharedPath, verdict.NoReason, 1, 48*h)), []Kind{ControlPlaneLate}, Note, "node-2 (at 2026-02-28 12:00 UTC)"},
		{"the controller manager, hours ago", judged(ok, of(verdict.ControllerManager, verdict.NoReason, 1, 5*h)), []Kind{ControllerManagerSlow}, Bad, "at 2026-03-02 07:00 UTC"},
		{"a reboot, hours ago", judged(ok, of(verdict.NodeRebooted, verdict.NoReason, 1, 5*h)), []Kind{NodesRebooted}, Warning, "at 2026-03-02 07:00 UTC"},
		{"undecided, hours ago", judged(ok, of(verdict.Undecided, verdict.NoReason, 1, 5*h)), []Kind{Undecided}, Warning, "at 2026-03-02 07:00 UTC"},
		{"planned", judged(ok, of(verdict.Planned, verdict.NoReason, 5, 5*m)), nil, "", ""},
		{"a grace period that is too short", judged(ok, of(verdict.GracePeriod, verdict.NoReason, 500, m)), nil, "", ""},
		{"a slow kubelet, hours ago", judged(ok, of(verdict.Node, verdict.Slow, 1, 5*h)), []Kind{NodesSlow}, Bad, "node-2 (at 2026-03-02 07:00 UTC)"},
		{"a slow kubelet, two days ago", judged(ok, of(verdict.Node, verdict.Slow, 1, 48*h)), []Kind{NodesSlow}, Note, "node-2 (at 2026-02-28 12:00 UTC)"},
		{"a late heartbeat, hours ago", judged(ok, of(verdict.Node, verdict.Late, 2, 5*h)), nil, "", ""},
		{"three late heartbeats", judged(ok, of(verdict.Node, verdict.Late, 3, 5*h)), []Kind{NodesSlow}, Warning, "node-2 (3 times, most recently at 2026-03-02 07:00 UTC)"},
		{"a late heartbeat just now", judged(30*s, of(verdict.Node, verdict.Late, 1, m)), []Kind{GracePeriodTight, NodesSlow}, Warning, "node-2 (30s)"},
		{"late just now, and nothing was decided", judged(30 * s), nil, "", ""},
		{"down, hours ago", judged(ok, of(verdict.Node, verdict.Down, 1, 5*h)), []Kind{NodesSilent}, Warning, "node-2 (at 2026-03-02 07:00 UTC)"},
		{"an upgrade, hours ago", judged(ok, of(verdict.Node, verdict.Upgraded, 1, 5*h)), []Kind{KubeletsUpgraded}, Warning, "node-2 (at 2026-03-02 07:00 UTC)"},
		{"a clock that was set back, hours ago", judged(ok, of(verdict.Node, verdict.ClockSetBack, 1, 5*h)), []Kind{ClocksSetBack}, Warning, "node-2 (at 2026-03-02 07:00 UTC)"},
		{"a reboot in an incident of the node", judged(ok, of(verdict.Node, verdict.Rebooted, 1, 5*h)), nil, "", ""},
	} {
		r := Of(c.c)
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
	c := judged(ok, Silences{verdict.SharedPath, verdict.NoReason, 1, now.Add(-48 * time.Hour)})
	c.Nodes[0].Silences = append(c.Nodes[0].Silences, Silences{verdict.SharedPath, verdict.NoReason, 1, now.Add(-time.Hour)})
	r := Of(c)
	if len(r.Recommendations) != 2 || r.Recommendations[0].Severity != Bad || r.Recommendations[0].Nodes[0].Node != "node-1" ||
		r.Recommendations[1].Severity != Note || r.Recommendations[1].Nodes[0].Node != "node-2" {
		t.Errorf("%+v", r.Recommendations)
	}
}
