package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// nodeRebooted records a reboot, which explains the silence before it.
func (l *nodes) nodeRebooted(x transition.NodeRebooted) {
	l.explain(x.Node, l.records.NodeRebooted(x.Node, x.Time), evidence.NodeRebooted, x.Time)
}

// kubeletUpgraded records a changed kubelet version, which explains the silence that ended with the upgrade.
func (l *nodes) kubeletUpgraded(x transition.KubeletUpgraded) {
	l.records.History.Upgrades.Note(x.Node, x.Time)
	l.explain(x.Node, l.records.KubeletUpgraded(x.Node, x.Time), evidence.KubeletUpgraded, x.Time)
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
