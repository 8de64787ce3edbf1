package contract

import (
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// A critical alert must be sent immediately. A warning must wait for working hours, and must only
// be sent if it is still firing then.
func TestWarningsWaitForWorkingHours(t *testing.T) {
	const soon = time.Minute
	for _, x := range []struct {
		name string
		from time.Time
		wait time.Duration
	}{
		{"at work", atWork, 0},
		{"in the evening", time.Date(2000, 1, 3, 18, 0, 0, 0, time.UTC), 14 * time.Hour},
		{"at night", time.Date(2000, 1, 4, 2, 0, 0, 0, time.UTC), 6 * time.Hour},
		{"on Saturday", time.Date(2000, 1, 8, 10, 0, 0, 0, time.UTC), 46 * time.Hour},
	} {
		t.Run(x.name, func(t *testing.T) {
			first := map[model.LabelValue]time.Duration{}
			for _, m := range notified(t, example(t), x.from, overnight(x.wait+time.Hour)) {
				for _, a := range append(m.firing, m.resolved...) {
					if _, known := first[a["alertname"]]; !known {
						first[a["alertname"]] = m.at
					}
				}
			}
			if at, sent := first["KubeflapServiceDown"]; !sent || at > soon {
				t.Errorf("critical alert sent: %t, after %s; want it sent immediately", sent, at)
			}
			if at, sent := first["KubeflapNodeLost"]; !sent || at < x.wait || at > x.wait+soon {
				t.Errorf("warning sent: %t, after %s; want it sent after %s", sent, at, x.wait)
			}
			if at, sent := first["KubeflapNodeFlapping"]; sent != (x.wait == 0) {
				t.Errorf("warning that ends after ten minutes sent: %t, after %s; want it not sent", sent, at)
			}
		})
	}
}

// overnight returns a critical alert and a warning that fire all the time, and a warning that fires for ten minutes.
// Prometheus sends them again every minute.
func overnight(lasts time.Duration) (moments []moment) {
	page := labels.FromStrings("alertname", "KubeflapServiceDown", "severity", "critical", "cluster", "eu",
		"scope", "services", "namespace", "shop", "service", "web")
	lost := labels.FromStrings("alertname", "KubeflapNodeLost", "severity", "warning", "cluster", "eu", "scope", "nodes", "node", "n1")
	flapping := labels.FromStrings("alertname", "KubeflapNodeFlapping", "severity", "warning", "cluster", "eu", "scope", "nodes", "node", "n2")
	for at := time.Duration(0); at < lasts; at += time.Minute {
		now := []labels.Labels{page, lost}
		if at < 10*time.Minute {
			now = append(now, flapping)
		}
		moments = append(moments, moment{at, now})
	}
	return moments
}
