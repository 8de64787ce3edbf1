package contract

import (
	"slices"
	"testing"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	series "github.com/prometheus/prometheus/model/labels"
)

// A warning must not inhibit a critical alert, because warnings are sent to the chat and critical alerts to the pager.
// The test tries all pairs of alerts.
func TestNoWarningInhibitsACriticalAlert(t *testing.T) {
	conf := example(t)
	of := map[string][]model.LabelSet{}
	for _, r := range alerts(t) {
		severity := r.Rule.Labels["severity"]
		of[severity] = append(of[severity], model.LabelSet{"alertname": model.LabelValue(r.Alert), "severity": model.LabelValue(severity)})
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

// inhibition is a test case for an inhibition rule. While the alert source fires, the alert inhibited must not be sent,
// and the alert kept must be sent.
type inhibition struct {
	source, inhibited, kept model.LabelSet
}

func firing(alert, severity, scope string, others ...string) model.LabelSet {
	set := model.LabelSet{"alertname": model.LabelValue(alert), "severity": model.LabelValue(severity), "scope": model.LabelValue(scope), "cluster": "eu"}
	for i := 0; i < len(others); i += 2 {
		set[model.LabelName(others[i])] = model.LabelValue(others[i+1])
	}
	return set
}

func service(alert, severity, name string) model.LabelSet {
	return firing(alert, severity, "services", "namespace", "shop", "service", name)
}

// inhibitions returns one case for each inhibition rule of the shipped configuration, in the same order.
func inhibitions() []inhibition {
	fault, lost := firing("KubeflapControlPlaneFault", "critical", "control_plane"), firing("KubeflapNodeLost", "critical", "control_plane")
	down, node := service("KubeflapServiceDown", "critical", "web"), firing("KubeflapNodeLost", "warning", "nodes", "node", "n1")
	overwritten := service("KubeflapEndpointsOverwritten", "critical", "web")
	return []inhibition{
		{fault, firing("KubeflapControlPlaneFault", "warning", "control_plane"), firing("KubeflapControlPlaneFault", "warning", "control_plane", "cluster", "us")},
		{fault, lost, down},
		{lost, service("KubeflapServiceFlapping", "warning", "cart"), down},
		{node, firing("KubeflapNodeFlapping", "warning", "nodes", "node", "n1"), firing("KubeflapNodeFlapping", "warning", "nodes", "node", "n2")},
		{overwritten, down, service("KubeflapServiceDown", "critical", "cart")},
		{down, service("KubeflapServiceBudgetBurning", "critical", "web"), service("KubeflapServiceFlapping", "warning", "cart")},
	}
}

// Each inhibition rule must inhibit the alerts that its source explains, and no others. If the rule is removed, all
// alerts must be sent.
func TestInhibitionOfTheExample(t *testing.T) {
	rules, cases := example(t).InhibitRules, inhibitions()
	if len(rules) != len(cases) {
		t.Fatalf("got %d rules and %d cases, want one case per rule", len(rules), len(cases))
	}
	for i, x := range cases {
		conf := example(t)
		if sends := x.sends(t, conf); sends(x.inhibited) || !sends(x.kept) {
			t.Errorf("rule %d: while %s fires, %s is sent: %t, want false; %s is sent: %t, want true",
				i+1, x.source, x.inhibited, sends(x.inhibited), x.kept, sends(x.kept))
		}
		conf.InhibitRules = slices.Delete(conf.InhibitRules, i, i+1)
		if sends := x.sends(t, conf); !sends(x.inhibited) {
			t.Errorf("without rule %d, %s is still inhibited", i+1, x.inhibited)
		}
	}
}

// sends sends the alerts of the case to Alertmanager. The returned function reports whether Alertmanager has sent a
// notification for an alert.
func (x inhibition) sends(t *testing.T, conf *config.Config) func(model.LabelSet) bool {
	sent := notified(t, conf, []moment{momentOf(x.source, x.inhibited, x.kept)})
	return func(set model.LabelSet) bool {
		return slices.ContainsFunc(sent, func(m message) bool { return slices.ContainsFunc(m.firing, set.Equal) })
	}
}

// momentOf returns an evaluation in which the given alerts fire.
func momentOf(all ...model.LabelSet) (m moment) {
	for _, set := range all {
		names := map[string]string{}
		for k, v := range set {
			names[string(k)] = string(v)
		}
		m.firing = append(m.firing, series.FromMap(names))
	}
	return m
}
