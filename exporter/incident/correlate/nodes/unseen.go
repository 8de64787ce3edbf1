package nodes

import (
	"cmp"
	"maps"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// WatchBroke records that kubeflap no longer sees heartbeats. A node may send heartbeats that kubeflap misses. A
// silence is nevertheless proven if it was already longer than the grace period, or if a direct read of Leases
// confirmed it.
func (l *Nodes) WatchBroke(x transition.WatchBroke) {
	for _, n := range l.troubled {
		s := n.silence
		if s == nil || !s.Ended.IsZero() {
			continue
		}
		s.EndedBlind = true
		if r := n.current(x.Time); n.isSilent && r != nil {
			r.Longest = max(r.Longest, x.Since.Sub(n.lastHeartbeat)) // the silence may end while the watch is broken
		}
		if !s.Read && x.Since.Sub(s.Began) <= l.Silences.CommonCauseWindow() {
			s.Blind = true
		}
	}
	l.LeaseBreak.Begin(x.Since)
}

// heartbeatsWereInTime withdraws the silences that did not happen. The heartbeats were on time, but the watch delivered
// them late. If the node reported its status meanwhile, there are several silences. An incident without other silences is
// withdrawn, too. If the node controller has set the node to Unknown, the silence stays, but is no longer proven.
func (l *Nodes) heartbeatsWereInTime(x transition.HeartbeatsWereInTime) {
	n := l.troubled[x.Node]
	if n == nil || n.silence == nil {
		return
	}
	if n.silence.Marked {
		n.silence.Blind = true
		return
	}
	own, shared, late := n.current(x.Time), l.HolderOf(n.silence), l.Silences.Withdraw(x.Node, x.Time.Add(-x.Silence))
	n.silence, n.isSilent = nil, false
	if shared != nil && shared != own {
		n.withdrawFrom(l.Ledger, shared, late, x)
	}
	if own != nil && n.withdrawFrom(l.Ledger, own, late, x) {
		n.record = nil
	}
}

// withdrawFrom removes silences that did not happen from an incident. The result is true if the node no longer belongs to it.
// If one of several nodes is left, the incident becomes that of this node.
func (n *node) withdrawFrom(l *ledger.Ledger, r *ledger.Record, late silence.List, x transition.HeartbeatsWereInTime) (left bool) {
	r.Evidence.Add(n.entry(incident.HeartbeatsInTime, x.Time, x.Silence))
	n.recovers(l, r, incident.Silent(n.name), x.Time)
	left = r.WithdrawSilences(x.Node, late)
	l.WithdrawIfEmpty(r, x.Time)
	if rest := r.NodeNames(); r.Kind == incident.KindControlPlane && len(rest) == 1 && !r.Settled {
		l.Merge([]*ledger.Record{r}, incident.Subject{Kind: incident.KindNode, Name: rest[0], Cause: cause.NodeHeartbeatLost}, x.Time)
	}
	return left
}

// clockSetBack records that a node's clock was set back. The clock change explains the node's current or next silence,
// so neither the kubelet nor the network is at fault.
func (l *Nodes) clockSetBack(x transition.ClockSetBack) {
	n := l.recordTransition(x.Node, x.Time)
	n.setBack = x
	l.Silences.ClockSetBack(x.Node, x.By)
	if s := n.silence; s != nil && s.Ended.IsZero() {
		s.ClockBack = x.By
	}
}

// nodeFoundLost handles a node that was lost before kubeflap began to watch it.
func (l *Nodes) nodeFoundLost(x transition.NodeFoundLost) {
	n := l.recordTransition(x.Node, x.Time)
	l.Silences.NotLate(x.Node)
	fellSilent := x.Time.Add(-x.Silence)
	s := n.beginSilence(l.Ledger, fellSilent, x.Loss)
	s.Marked, s.MarkedAge = x.Unknown, x.Loss.MarkedAge
	s.Found = silence.Found{Is: true, InDoubt: x.InDoubt, Marked: x.Marked}
	r := l.lose(n, x.Time, x.Loss, x.Silence)
	r.HeartbeatLost = true
	if !x.InDoubt && x.Silence > 0 {
		n.isSilent, n.lastHeartbeat, n.trigger = true, fellSilent, x.Loss.Trigger
		r.Fails(incident.Silent(n.name), fellSilent)
		r.Evidence.Add(n.entry(incident.HeartbeatBefore, fellSilent, 0))
		r.MoveStartBack(fellSilent.Add(l.Silences.CommonCauseWindow()))
	}
	if x.Unknown {
		n.notReady, n.notReadySince = true, x.Time
		r.FoundUnknown++
		since := x.Time
		if !x.Marked.IsZero() && x.Marked.Before(since) {
			since = x.Marked
			r.Evidence.Add(n.entry(incident.UnknownBefore, since, 0))
		}
		r.Fails(incident.NotReady(n.name), since)
		r.MoveStartBack(since)
	}
	l.Note(r, n.entry(incident.FoundLost, x.Time, 0))
}

// wasNotReady records that the node's kubelet had reported it as not ready before kubeflap began to watch it.
func (n *node) wasNotReady(l *Nodes, x transition.NodeFoundNotReady) {
	n.notReady, n.notReadySince = true, cmp.Or(x.Since, x.Time)
	r := n.recordOfReport(l, x.Time, x.Trigger)
	n.said = &incident.Said{First: x.Says, Last: x.Says, Since: n.notReadySince}
	r.KubeletSaid(n.said)
	r.FoundNotReady++
	r.Fails(incident.NotReady(n.name), n.notReadySince)
	r.MoveStartBack(n.notReadySince)
	if !x.Since.IsZero() {
		r.Evidence.Add(n.entry(incident.NotReadyBefore, x.Since, 0))
	}
	e := n.entry(incident.FoundNotReady, x.Time, 0)
	if x.Says != (event.Words{}) {
		e.Said = n.said
	}
	l.Note(r, e)
}

func (l *Nodes) nodeRemoved(x transition.NodeRemoved) {
	n := l.recordTransition(x.Node, x.Time)
	l.deleted[n.name] = x.Time
	delete(l.troubled, n.name)
	l.Silences.NodeRemoved(n.name, cmp.Or(x.Earliest, x.Time))
	r := n.current(x.Time)
	if r == nil || !n.isSilent && !n.notReady {
		return
	}
	n.isSilent, n.notReady = false, false
	r.Evidence.Add(n.entry(incident.NodeRemoved, x.Time, 0))
	r.Recovers(incident.Silent(n.name), x.Time)
	n.recovers(l.Ledger, r, incident.NotReady(n.name), x.Time)
}

// WasDeleted reports whether a Node was deleted at most nodeMemory before t, and has not been created again.
func (l *Nodes) WasDeleted(name string, t time.Time) bool {
	at, ok := l.deleted[name]
	return ok && t.Sub(at) <= nodeMemory
}

// Sweep forgets nodes without recent transitions.
func (l *Nodes) Sweep(t time.Time) {
	maps.DeleteFunc(l.deleted, func(_ string, at time.Time) bool { return t.Sub(at) > nodeMemory })
	memory := max(nodeMemory, l.Silences.CommonCauseWindow())
	maps.DeleteFunc(l.troubled, func(_ string, n *node) bool {
		lasts := n.isSilent || n.notReady || n.silence != nil && n.silence.IsOngoing()
		return !lasts && t.Sub(n.seen) > memory && (n.record == nil || n.record.Root().Settled)
	})
}
