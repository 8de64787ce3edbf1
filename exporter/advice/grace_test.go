package advice

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/verdict"
)

func TestRecommendedGracePeriod(t *testing.T) {
	const s = time.Second
	cases := []struct {
		name string
		g    GracePeriod
		want time.Duration
	}{
		{"the first post: a kubelet that reports every 20 to 50 s, and a grace period of 40 s", GracePeriod{Period: 40 * s, Default: 40 * s, Interval: 10 * s, Longest: 50 * s}, 100 * s},
		{"the same kubelet, with the time of the requests", GracePeriod{Period: 40 * s, Default: 40 * s, Interval: 10 * s, Longest: 50400 * time.Millisecond}, 110 * s},
		{"the fifth post: 10 s, in v1.11", GracePeriod{Period: 10 * s, Default: 40 * s, Interval: 10 * s}, 40 * s},
		{"10 s, from v1.32 on", GracePeriod{Period: 10 * s, Default: 50 * s, Interval: 10 * s}, 50 * s},
		{"10 s beside a slow kubelet", GracePeriod{Period: 10 * s, Default: 50 * s, Interval: 10 * s, Longest: 50 * s}, 100 * s},
		{"two renewals, up to 4 % late, do not fit", GracePeriod{Period: 20 * s, Default: 50 * s, Interval: 10 * s}, 50 * s},
		{"the default, and all is well", GracePeriod{Period: 40 * s, Default: 40 * s, Interval: 10 * s}, 0},
		{"a heartbeat of 26 s: a broken connection takes 45 s", GracePeriod{Period: 50 * s, Default: 50 * s, Interval: 10 * s, Longest: 26 * s}, 60 * s},
		{"16 s with a heartbeat every 4 s", GracePeriod{Period: 16 * s, Default: 50 * s, Interval: 4 * s}, 0},
		{"7 s with a heartbeat every 4 s", GracePeriod{Period: 7 * s, Default: 50 * s, Interval: 4 * s}, 50 * s},
		{"8 s with a Lease of 20 s, which is renewed every 5 s", GracePeriod{Period: 8 * s, Default: 50 * s, Interval: 5 * s}, 50 * s},
		{"50 s with a Lease of 120 s, which is renewed every 30 s", GracePeriod{Period: 50 * s, Default: 50 * s, Interval: 30 * s}, 70 * s},
		{"more than two minutes would find dead nodes too late", GracePeriod{Period: 40 * s, Default: 40 * s, Interval: 10 * s, Longest: 100 * s}, 120 * s},
		{"too long for healthy nodes", GracePeriod{Period: 600 * s, Default: 50 * s, Interval: 10 * s}, 120 * s},
		{"too long, but a shorter one would not bridge the intervals", GracePeriod{Period: 150 * s, Default: 50 * s, Interval: 10 * s, Longest: 100 * s}, 0},
		{"nobody can set it", GracePeriod{Period: 40 * s, Default: 40 * s, Interval: 10 * s, Longest: 50 * s, Managed: true}, 0},
		{"it is not known", GracePeriod{Interval: 10 * s, Longest: 50 * s}, 0},
		{"neither version nor interval are known", GracePeriod{Period: 10 * s}, 50 * s},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := c.g.Recommended()
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got > 0 && got < c.g.Shortest() {
				t.Errorf("%s is not safe", got)
			}
		})
	}
}

// TestTheControlPlaneComesBeforeAnUnsafeGracePeriod checks that the remedy names a stalled etcd first, even if a single
// lost heartbeat exceeds the grace period.
func TestTheControlPlaneComesBeforeAnUnsafeGracePeriod(t *testing.T) {
	for period, want := range map[time.Duration]string{
		12 * time.Second: "Whatever the cause, the grace period of 12s is unsafe, because a single lost heartbeat makes a node Unknown: set --node-monitor-grace-period to 50s.",
		24 * time.Second: "The grace period is not at fault.",
	} {
		got := LostNodes{Verdict: verdict.SharedPath, Grace: GracePeriod{Period: period, Default: 50 * time.Second, Interval: 10 * time.Second}}.Remedy()
		if !strings.HasPrefix(got, "Check etcd's disk and load first") || !strings.HasSuffix(got, want) {
			t.Errorf("at %s: %s", period, got)
		}
	}
}

func TestEachVerdictHasItsText(t *testing.T) {
	for _, v := range verdict.All() {
		if v.Words() == "" {
			t.Errorf("%s lacks a text", v)
		}
	}
}
