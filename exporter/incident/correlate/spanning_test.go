package correlate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestASilenceThatSpansABreakOfTheWatch checks the length of a silence that was proven before the watch broke, and that
// ended after the watch worked again. The node is silent from 200 s on.
func TestASilenceThatSpansABreakOfTheWatch(t *testing.T) {
	for _, c := range []struct {
		name        string
		story       func() *cluster
		says        string
		longest     time.Duration
		recommended time.Duration
		remedy      string
	}{
		{
			"the list shows no renewal", func() *cluster { return newCluster(9, 40).silence(200, 600, 2).breaks(300, 370) },
			"no heartbeat for 6m", 400 * time.Second, 0, "No sensible grace period covers an interval of 6m",
		},
		{
			"the silence is short enough to bridge", func() *cluster { return newCluster(9, 40).silence(200, 280, 2).breaks(260, 275) },
			"no heartbeat for 90s", 90 * time.Second, 2 * time.Minute, "to 2m00s. It is currently 40s, and the longest interval was 90s.",
		},
		{
			"it ends in the break", func() *cluster { return newCluster(9, 40).silence(200, 600, 2).breaks(300, 700) },
			"no heartbeat for at least 10", 105 * time.Second, 0, "kubeflap did not see the heartbeats resume",
		},
		{
			"it ends in the break, and another node was late before", func() *cluster {
				return newCluster(9, 40).silence(110, 160, 7).silence(200, 600, 2).breaks(300, 700)
			},
			"no heartbeat for at least 10", 105 * time.Second, 2 * time.Minute, "and the longest complete interval was 60s.",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := c.story().runs(900)
			of2 := func(x incident.Incident) bool { return x.Subject == "node-2" }
			if slices.IndexFunc(all, of2) < 0 {
				t.Fatalf("no incident of node-2: %+v", all)
			}
			x := all[slices.IndexFunc(all, of2)]
			if d := x.Numbers.LongestInterval - c.longest; d.Abs() > 12*time.Second {
				t.Errorf("longest interval %s, want about %s", x.Numbers.LongestInterval, c.longest)
			}
			equal(t, "at least", x.Numbers.LongestAtLeast, strings.Contains(c.says, "at least"))
			equal(t, "recommended", x.Numbers.RecommendedGracePeriod, c.recommended)
			if !strings.Contains(x.Summary, c.says) || !strings.Contains(x.Remedy, c.remedy) {
				t.Errorf("%s\n%s", x.Summary, x.Remedy)
			}
		})
	}
}
