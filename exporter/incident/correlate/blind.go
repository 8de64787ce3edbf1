package correlate

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// watchBroke records that kubeflap cannot see heartbeats. A silence that was proven before stays proven. Otherwise the node may
// have sent heartbeats, and other nodes may be silent, too.
func (l *nodes) watchBroke(x transition.WatchBroke) {
	for _, n := range l.troubled {
		s := n.silence
		if s == nil || !s.Ended.IsZero() {
			continue
		}
		s.EndedBlind = true
		if r := n.current(x.Time); n.missed && r != nil {
			r.Longest = max(r.Longest, x.Since.Sub(n.gapFrom)) // it may end unseen
		}
		if !s.Read && x.Since.Sub(s.Began) <= l.records.LostTogether() {
			s.Blind = true
		}
	}
}

// relisted handles the list after a break of the watch. last is when a silent node last renewed its Lease, as that list shows;
// zero if that is not known. The node sent no heartbeat between last and the list, so its silence is proven. It returns the time
// of the last heartbeat.
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

// wereInTime withdraws a silence that did not happen: the watch was late. If the incident has nothing else, it is withdrawn, too.
// If the node controller marked the node meanwhile, there was harm: the silence stays, but proves nothing.
func (l *nodes) wereInTime(x transition.HeartbeatsWereInTime) {
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
	l.records.NotSilent(s)
	n.silence, n.missed, n.gap = nil, false, n.gap.End(x.Time)
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

// clockSetBack records that a node's clock was set back. An ongoing silence, or one that begins now, is then not caused by the
// node's kubelet or network.
func (l *nodes) clockSetBack(x transition.ClockSetBack) {
	n := l.hear(x.Node, x.Time)
	n.setBack, n.setBackBy = x.Time, x.By
	l.records.SetBack(x.Node, x.Time, x.By)
	if s := n.silence; s != nil && s.Ended.IsZero() {
		s.ClockBack = x.By
		l.mergeClocks(x.Time)
	}
}
