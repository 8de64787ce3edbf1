package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// upgradeShown is how long after its first heartbeat a new kubelet may report its version: it reports its status when it starts.
const upgradeShown = time.Minute

func (l *nodes) rebooted(x transition.NodeRebooted) {
	l.records.NoteReboot(x.Node, x.Time)
	n := l.troubled[x.Node]
	if n == nil || n.silence == nil {
		return
	}
	n.silence.Rebooted = true
	if r := n.current(x.Time); r != nil {
		r.Evidence.Add(evidence.Entry{Kind: evidence.NodeRebooted, Time: x.Time, Name: n.name})
		l.records.Touch(r, x.Time)
	}
}

// upgraded takes in that a kubelet was replaced by another version. That explains a silence that it ended.
func (l *nodes) upgraded(x transition.KubeletUpgraded) {
	n := l.troubled[x.Node]
	if n == nil || n.silence == nil || !n.silence.Ended.IsZero() && x.Time.Sub(n.silence.Ended) > upgradeShown {
		return
	}
	n.silence.Upgraded = true
	if r := n.current(x.Time); r != nil {
		r.Evidence.Add(evidence.Entry{Kind: evidence.KubeletUpgraded, Time: x.Time, Name: n.name})
		l.records.Touch(r, x.Time)
	}
}
