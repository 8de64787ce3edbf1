package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// rebooted records that a machine was rebooted. That explains a silence that ended with the reboot.
func (l *nodes) rebooted(x transition.NodeRebooted) {
	l.explain(x.Node, l.records.Rebooted(x.Node, x.Time), evidence.NodeRebooted, x.Time)
}

// upgraded records that a kubelet was replaced by another version. That explains a silence that ended with the upgrade.
func (l *nodes) upgraded(x transition.KubeletUpgraded) {
	l.records.History.Upgrades.Note(x.Node, x.Time)
	l.explain(x.Node, l.records.Upgraded(x.Node, x.Time), evidence.KubeletUpgraded, x.Time)
}

// explain adds to the incident of a node what explains its silence.
func (l *nodes) explain(name string, s *verdict.Silence, by evidence.Kind, t time.Time) {
	n := l.troubled[name]
	if n == nil || s == nil || s != n.silence {
		return
	}
	if r := n.current(t); r != nil {
		r.Evidence.Add(evidence.Entry{Kind: by, Time: t, Name: n.name})
		l.records.Touch(r, t)
	}
}
