package main

import (
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestTheLongestSilenceIsTold checks that an incident reports its longest silence, and not the interval after it, even
// if the interval that ended the silence could not be measured.
func TestTheLongestSilenceIsTold(t *testing.T) {
	withoutRaceDetector(t)
	// The watch lists again at the start of the silence, so that the first heartbeat afterwards has no known interval.
	// The list contains the unchanged Lease, so the silence started with the renewal before the list.
	unmeasured := func() *fakeCluster {
		return newFakeCluster(9).withManager(24*time.Second).breaks(event.KindLease, 301, 302, event.ReasonTimeout).silence(300, 334, 2)
	}
	// reports makes node-2 report its status at a second, before it renews its Lease.
	reports := func(c *fakeCluster, second float64) *fakeCluster {
		return c.at(second, func() { c.returns(c.nodes[1]) })
	}
	for _, c := range []struct {
		name    string
		cluster *fakeCluster
		want    string
		again   string
		remedy  string
		// recommended is the grace period in seconds that the page, the metric and advise must recommend.
		recommended float64
	}{
		{"a renewal, then a report", unmeasured(), "sent no heartbeat for 40.9s (grace period 24s)", "heartbeats resumed after 40.9s", "the longest interval was 40.9s", 90},
		{"a report, then a renewal", reports(unmeasured(), 334.0001), "sent no heartbeat for 40.1s (grace period 24s)", "heartbeats resumed after 40.1s", "the longest interval was 40.1s", 90},
		{"a longer silence before", unmeasured().silence(342, 368, 2), "sent no heartbeat for 40.9s (grace period 24s) and Ready turned Unknown 2 times", "heartbeats resumed after 40.9s", "the longest interval was 40.9s", 90},
		{"measured", newFakeCluster(9).withManager(24*time.Second).silence(300, 334, 2), "sent no heartbeat for 40.9s (", "heartbeats resumed after 40.9s", "the longest interval was 40.9s", 90},
		{"measured, a report first", reports(newFakeCluster(9).withManager(24*time.Second).silence(300, 334, 2), 334.0001), "sent no heartbeat for 40.1s (", "heartbeats resumed after 40.1s", "the longest interval was 40.1s", 90},
		{"the watch breaks before the grace period is over", newFakeCluster(9).silence(300, 390, 2).breaks(event.KindLease, 320, 372, event.ReasonTimeout), "sent no heartbeat for 96.9s (grace period 40s)", "", "The evidence does not show which component is at fault", 0},
		{"the watch breaks afterwards", newFakeCluster(9).silence(300, 390, 2).breaks(event.KindLease, 360, 420, event.ReasonTimeout), "sent no heartbeat for at least 64.1s (grace period 40s)", "heartbeats resumed\n", "It is unknown whether a grace period longer than 40s would have helped", 0},
	} {
		w := newStoryWatcher(t, c.cluster)
		w.runUntil(700)
		all := w.incidents()
		if len(all) != 1 {
			t.Fatalf("%s: %s", c.name, textOf(all))
		}
		texts := ""
		for _, e := range all[0].Evidence {
			texts += e.Text + "\n"
		}
		if !strings.Contains(all[0].Summary, c.want) || !strings.Contains(texts, c.again) || !strings.Contains(all[0].Remedy, c.remedy) {
			t.Errorf("%s: %s %s\n%s", c.name, all[0].Summary, all[0].Remedy, texts)
		}
		for place, got := range w.recommendations() {
			if got != c.recommended {
				t.Errorf("%s: %s recommends %g, want %g", c.name, place, got, c.recommended)
			}
		}
	}
}
