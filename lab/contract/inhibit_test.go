package contract

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	series "github.com/prometheus/prometheus/model/labels"
)

// A warning must not inhibit a critical alert, because warnings are sent to the chat and critical alerts to the pager.
// The test tries all pairs of alerts with all causes.
func TestNoWarningInhibitsACriticalAlert(t *testing.T) {
	conf := example(t)
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

// inhibition is a test case for an inhibition rule. While the alert source fires, the alert inhibited must not be sent,
// and the alert kept must be sent.
type inhibition struct {
	source, inhibited, kept model.LabelSet
}

func firing(alert, severity string, others ...string) model.LabelSet {
	set := model.LabelSet{"alertname": model.LabelValue(alert), "severity": model.LabelValue(severity), "cluster": "eu"}
	for i := 0; i < len(others); i += 2 {
		set[model.LabelName(others[i])] = model.LabelValue(others[i+1])
	}
	return set
}

func service(alert, severity, name, cause string) model.LabelSet {
	return firing(alert, severity, "namespace", "shop", "service", name, "cause", cause)
}

// inhibitions returns one case for each inhibition rule of the shipped configuration, in the same order.
func inhibitions() []inhibition {
	without := "KubeflapServiceWithoutReadyAddresses"
	clusterWide, manager := firing("KubeflapHeartbeatsLateClusterWide", "critical"), firing("KubeflapControllerManagerSlow", "critical")
	tight, lost := firing("KubeflapGracePeriodTooTight", "critical"), firing("KubeflapNodeHeartbeatLost", "warning", "node", "n1")
	other, flapping := firing("KubeflapNodeHeartbeatLost", "warning", "node", "n2"), firing("KubeflapNodeFlapping", "warning", "node", "n1")
	silenced := service(without, "critical", "web", "node_heartbeat_lost")
	return []inhibition{
		{tight, firing("KubeflapGracePeriodTooTight", "warning"), firing("KubeflapGracePeriodTooTight", "warning", "cluster", "us")},
		{clusterWide, lost, firing("KubeflapNodeHeartbeatLost", "warning", "cluster", "us", "node", "n1")},
		{clusterWide, silenced, service(without, "critical", "web", "probe_failed")},
		{manager, flapping, other},
		{manager, silenced, service(without, "critical", "web", "container_exit")},
		{tight, firing("KubeflapNodeHeartbeatLate", "warning", "node", "n1"), other},
		{lost, flapping, firing("KubeflapNodeFlapping", "warning", "node", "n2")},
		{lost, service("KubeflapServiceFlapping", "warning", "web", "node_heartbeat_lost"), service(without, "critical", "cart", "node_heartbeat_lost")},
		{
			lost, firing("KubeflapPodsMisreported", "warning", "kind", "ready_on_lost_node"),
			firing("KubeflapPodsMisreported", "warning", "kind", "unready_after_recovery"),
		},
		{
			service("KubeflapEndpointsReset", "critical", "web", "endpoints_reset"), service(without, "critical", "web", "endpoints_reset"),
			service(without, "critical", "cart", "endpoints_reset"),
		},
		{
			service(without, "critical", "web", "probe_failed"), service("KubeflapServiceFlapping", "warning", "web", "probe_failed"),
			service("KubeflapServiceFlapping", "warning", "cart", "probe_failed"),
		},
		{
			firing("KubeflapTrafficBouncing", "warning", "namespace", "shop"), service("KubeflapServiceFlapping", "warning", "web", "inplace_update"),
			service("KubeflapServiceFlapping", "warning", "web", "probe_failed"),
		},
		{
			firing("KubeflapDown", "critical", "namespace", "monitoring", "job", "kubeflap"),
			firing("KubeflapBlind", "warning", "namespace", "monitoring", "job", "kubeflap", "resource", "nodes"),
			firing("KubeflapBlind", "warning", "namespace", "team-a", "job", "kubeflap", "resource", "pods"),
		},
		{firing("KubeflapBlind", "warning", "namespace", "monitoring", "job", "kubeflap", "resource", "nodes"), firing("KubeflapReplicasDisagree", "warning"), flapping},
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
	sent := notified(t, conf, atWork, []moment{momentOf(x.source, x.inhibited, x.kept)})
	return func(set model.LabelSet) bool {
		return slices.ContainsFunc(sent, func(m message) bool { return slices.ContainsFunc(m.firing, set.Equal) })
	}
}

// If the probes of all pods of 200 Services fail while other kinds of incidents occur, there must be one page for the
// control plane, one page for all Services, and one chat message for the other alerts.
func TestAStormIsAFewMessages(t *testing.T) {
	storm := []model.LabelSet{
		firing("KubeflapHeartbeatsLateClusterWide", "critical"), firing("KubeflapGracePeriodTooTight", "critical"),
		service("KubeflapEndpointsReset", "critical", "kube-scheduler", "endpoints_reset"), firing("KubeflapStaleReadds", "warning", "namespace", "shop", "service", "cart"),
	}
	for i := range 200 {
		name := fmt.Sprint("web-", i)
		storm = append(storm, service("KubeflapServiceWithoutReadyAddresses", "critical", name, "probe_failed"),
			service("KubeflapServiceReadinessBudgetBurning", "critical", name, "probe_failed"), service("KubeflapServiceFlapping", "warning", name, "probe_failed"))
	}
	for _, node := range []string{"node-1", "node-2", "node-3"} {
		storm = append(storm, firing("KubeflapNodeHeartbeatLost", "warning", "node", node), firing("KubeflapNodeFlapping", "warning", "node", node))
	}
	sent := notified(t, example(t), atWork, []moment{momentOf(storm...)})
	alerts, messages := map[string]int{}, 0
	for _, m := range sent {
		messages += min(1, len(m.firing))
		for _, a := range m.firing {
			alerts[string(a["alertname"])]++
		}
	}
	if messages != 3 || alerts["KubeflapServiceWithoutReadyAddresses"] != 200 || alerts["KubeflapHeartbeatsLateClusterWide"] != 1 || alerts["KubeflapStaleReadds"] != 1 {
		t.Errorf("got %d messages with %v, want three", messages, alerts)
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
