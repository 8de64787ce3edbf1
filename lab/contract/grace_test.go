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
	c := populated(9, func(*cluster) {})
	e := newEvaluator(t)
	slow := c.anyNode("")
	recommending := map[string]bool{}
	for at := origin.Add(150 * time.Second); at.Before(origin.Add(16 * time.Minute)); at = at.Add(30 * time.Second) {
		slow.silent = at.Sub(origin)%(90*time.Second) != 0
		c.runUntil(at)
		e.scrape(at, c.collector, "a")
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
