package correlate

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// removedFor is the time for which a silent node is remembered after its deletion. The Node may be created again.
const removedFor = time.Hour

// removedNode is a silent node that was deleted.
type removedNode struct {
	at      time.Time
	silence *verdict.Silence
	record  *record.Record
}

func (l *nodes) nodeRemoved(x transition.NodeRemoved) {
	n := l.recordTransition(x.Node, x.Time)
	l.deleted[n.name] = x.Time
	delete(l.lastTransition, n.name)
	delete(l.troubled, n.name)
	l.records.History.RemoveLate(n.name)
	l.records.NodeRemoved(n.name)
	r := n.current(x.Time)
	if r == nil || !n.isSilent && !n.notReady {
		return
	}
	n.isSilent, n.notReady = false, false
	if n.silence != nil {
		n.silence.Deleted = cmp.Or(x.Earliest, x.Time)
		l.gone[n.name] = removedNode{x.Time, n.silence, r}
	}
	n.silenceSpan, n.notReadySpan = n.silenceSpan.End(x.Time), n.notReadySpan.End(x.Time)
	r.Evidence.Add(evidence.Entry{Kind: evidence.NodeRemoved, Time: x.Time, Name: n.name})
	l.close(r, n, x.Time)
}

// nodeReturned handles a silent node that was deleted and created again. Its bootID and providerID show whether the
// machine is the same.
func (l *nodes) nodeReturned(x transition.NodeReturned) {
	g, known := l.gone[x.Node]
	if !known {
		return
	}
	delete(l.gone, x.Node)
	s, kind := g.silence, evidence.NodeUnclear
	switch x.Machine {
	case transition.MachineSame:
		s.Ended, kind = x.Time, evidence.NodeRegistered
	case transition.MachineRebooted:
		s.Ended, s.Rebooted, kind = x.Time, true, evidence.NodeRebooted
	case transition.MachineReplaced:
		kind = evidence.NodeReplaced
	}
	if !s.Ended.IsZero() {
		l.records.AddSilence(s) // the machine is the same, so its silence counts
	}
	s.Again = x.Machine
	r := g.record.Root()
	r.Evidence.Add(evidence.Entry{Kind: kind, Time: x.Time, Name: x.Node})
	l.records.Explain(r, x.Time)
}

// forgetGone forgets Nodes that were deleted long ago.
func (l *nodes) forgetGone(t time.Time) {
	for name, g := range l.gone {
		if t.Sub(g.at) > removedFor {
			delete(l.gone, name)
		}
	}
	for name, at := range l.deleted {
		if t.Sub(at) > nodeMemory {
			delete(l.deleted, name)
		}
	}
}

// wasDeleted reports whether a Node was deleted at most nodeMemory before t, and has not been created again.
func (l *nodes) wasDeleted(name string, t time.Time) bool {
	at, ok := l.deleted[name]
	_, again := l.lastTransition[name]
	return ok && !again && t.Sub(at) <= nodeMemory
}
