package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A kubelet repeatedly sends no heartbeat for a minute. All alerts that recommend a grace period must recommend the
// value of kubeflap's metric.
func TestAlertsRepeatTheRecommendedGracePeriod(t *testing.T) {
	start := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	c := newCluster(start)
	for range 9 {
		c.join()
	}
	c.runUntil(start.Add(time.Minute))
	c.watch()
	e := newEvaluator(t)
	slow := c.anyNode("")
	recommending := map[string]bool{}
	for at := start.Add(90 * time.Second); at.Before(start.Add(15 * time.Minute)); at = at.Add(30 * time.Second) {
		slow.silent = at.Sub(start)%(90*time.Second) != 0
		c.runUntil(at)
		e.scrape(at, gatherer(c), "a")
		want := fmt.Sprintf("set --node-monitor-grace-period=%.0fs on each", total(t, c, "kubeflap_node_monitor_grace_period_recommended_seconds"))
		for _, a := range e.evaluate(at) {
			name, text := a.Labels.Get("alertname"), a.Annotations.Get("description")
			if asks := strings.Contains(text, "--node-monitor-grace-period="); asks && !strings.Contains(text, want) {
				t.Errorf("%s: %q not found in: %s", name, want, text)
			} else if asks {
				recommending[name] = true
			}
		}
	}
	if !recommending["KubeflapNodeHeartbeatLost"] || !recommending["KubeflapGracePeriodTooTight"] {
		t.Errorf("the grace period is only recommended by %v", recommending)
	}
}
