package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// rebooted records a reboot, which explains the silence before it.
func (l *nodes) rebooted(x transition.NodeRebooted) {
	l.explain(x.Node, l.records.Rebooted(x.Node, x.Time), evidence.NodeRebooted, x.Time)
}

// upgraded records a changed kubelet version, which explains the silence that ended with the upgrade.
func (l *nodes) upgraded(x transition.KubeletUpgraded) {
	l.records.History.Upgrades.Note(x.Node, x.Time)
	l.explain(x.Node, l.records.Upgraded(x.Node, x.Time), evidence.KubeletUpgraded, x.Time)
}

// explain adds the explanation for a node's silence to the node's incident.
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
