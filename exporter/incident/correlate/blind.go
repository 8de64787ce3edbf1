package correlate

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// watchBroke records that kubeflap no longer sees heartbeats. A node may send heartbeats that kubeflap misses. A
// silence is nevertheless proven if it was already longer than the grace period, or if a direct read of Leases
// confirmed it.
func (l *nodes) watchBroke(x transition.WatchBroke) {
	for _, n := range l.troubled {
		s := n.silence
		if s == nil || !s.Ended.IsZero() {
			continue
		}
		s.EndedBlind = true
		if r := n.current(x.Time); n.isSilent && r != nil {
			r.Longest = max(r.Longest, x.Since.Sub(n.lastHeartbeat)) // the silence may end while the watch is broken
		}
		if !s.Read && x.Since.Sub(s.Began) <= l.records.CommonCauseWindow() {
			s.Blind = true
		}
	}
}

// relisted returns the time of a silent node's last heartbeat. If `last` is zero, the result is `listed`. Otherwise,
// the silence began while the watch was broken, and the result is `last`: the renewTime in the first list after the
// break. That list proves the silence.
func (l *nodes) relisted(n *node, listed, last time.Time) time.Time {
	if last.IsZero() {
		return listed
	}
	n.listed = listed
	if s := n.silence; s != nil && s.Ended.IsZero() && (s.Blind || s.BeganBlind) {
		l.records.History.Remove(s)
		s.Began, s.Blind, s.BeganBlind, s.EndedBlind, s.Relisted = last, false, false, false, true
		l.records.History.Add(s)
	}
	return last
}

// heartbeatsWereInTime withdraws a silence that did not happen. The heartbeats were on time, but the watch delivered
// them late. An incident without other silences is withdrawn, too. If the node controller has set the node to Unknown,
// the silence stays, but is no longer proven.
func (l *nodes) heartbeatsWereInTime(x transition.HeartbeatsWereInTime) {
	n := l.troubled[x.Node]
	if n == nil || n.silence == nil {
		return
	}
	s, r := n.silence, n.current(x.Time)
	if s.Marked {
		s.Blind = true
		return
	}
	l.records.History.Remove(s)
	l.records.RemoveSilence(s)
	n.silence, n.isSilent, n.silenceSpan = nil, false, n.silenceSpan.End(x.Time)
	n.lostAt = time.Time{}
	l.losses = slices.DeleteFunc(l.losses, func(x nodeLoss) bool { return x.node == n })
	if r == nil {
		return
	}
	r.DropSilence(s)
	r.Evidence.Add(evidence.Entry{Kind: evidence.HeartbeatsInTime, Time: x.Time, Name: n.name, Duration: x.Silence})
	l.close(r, n, x.Time)
	l.records.WithdrawIfEmpty(r, x.Time)
}

// clockSetBack records that a node's clock was set back. The clock change explains the node's current or next silence,
// so neither the kubelet nor the network is at fault.
func (l *nodes) clockSetBack(x transition.ClockSetBack) {
	n := l.recordTransition(x.Node, x.Time)
	n.setBack, n.setBackBy = x.Time, x.By
	l.records.ClockSetBack(x.Node, x.Time, x.By)
	if s := n.silence; s != nil && s.Ended.IsZero() {
		s.ClockBack = x.By
		l.mergeClocks(x.Time)
	}
}
