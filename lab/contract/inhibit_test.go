package contract

import (
	"testing"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
)

// A warning goes to the chat, so it must not keep a critical alert from the pager. All pairs of alerts are tried, with each cause.
func TestNoWarningInhibitsACriticalAlert(t *testing.T) {
	conf, err := config.LoadFile(RulePath("alertmanager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][]model.LabelSet{}
	for _, r := range alerts(t) {
		severity := r.Rule.Labels["severity"]
		for _, cause := range closedSet() {
			of[severity] = append(of[severity], model.LabelSet{"alertname": model.LabelValue(r.Alert), "severity": model.LabelValue(severity), "cause": model.LabelValue(cause)})
		}
	}
	for i, x := range conf.InhibitRules {
		inhibits := 0
		for severity, sources := range of {
			for _, source := range sources {
				if !labels.Matchers(x.SourceMatchers).Matches(source) {
					continue
				}
				for _, target := range of["critical"] {
					if labels.Matchers(x.TargetMatchers).Matches(target) && severity != "critical" {
						t.Errorf("rule %d: %s inhibits %s", i+1, source, target)
					}
				}
				inhibits++
			}
		}
		if inhibits == 0 {
			t.Errorf("no alert is a source of rule %d", i+1)
		}
	}
}
