package nodes

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func (l *Nodes) heartbeatSeen(x transition.HeartbeatSeen) {
	l.Silences.Begin(x.Time)
	delete(l.deleted, x.Node)
	defer l.Silences.NotLate(x.Node)
	n := l.troubled[x.Node]
	if n == nil {
		if x.Interval > l.Silences.Settings.LateThreshold() {
			l.HeartbeatWasLate(x.Node, x.Time, x.Interval, l.count())
		}
		return
	}
	if s, before := n.silence, x.Time.Add(-x.Interval); s != nil && s.Ended.IsZero() {
		switch {
		case x.Unwatched:
			s.Began = before // of a node that was found lost, the offset of its clock is known now
		case !before.After(s.Began):
			s.EndedBlind = false // kubeflap measured an interval that contains the silence
		}
	}
	l.handleHeartbeat(n, x.Time, x.Interval)
}

// heartbeatsResumed handles a heartbeat after an interval that the tracker could not measure.
func (l *Nodes) heartbeatsResumed(n *node, t time.Time) {
	interval := time.Duration(0) // the node may have sent other heartbeats while the watch was broken
	if s := n.silence; n.isSilent && s != nil && !s.EndedBlind {
		interval = t.Sub(n.lastHeartbeat)
	}
	l.handleHeartbeat(n, t, interval)
}

// handleHeartbeat handles a heartbeat. The parameter interval is the time since the previous heartbeat, or 0 if
// unknown.
func (l *Nodes) handleHeartbeat(n *node, t time.Time, interval time.Duration) {
	n.endSilence(t)
	if interval > l.Silences.Settings.LateThreshold() {
		l.HeartbeatWasLate(n.name, t, interval, l.count())
	}
	r := n.current(t)
	if r == nil {
		n.isSilent = false
		return
	}
	if lost := l.Silences.Settings.Shortest(); n.isSilent && r.Kind == incident.KindGracePeriod && interval > lost {
		r = l.outgrow(n, n.lastHeartbeat.Add(lost))
	}
	r.Longest = max(r.Longest, interval)
	if !n.isSilent {
		return
	}
	n.isSilent = false
	r.Evidence.Add(n.entry(incident.HeartbeatSeen, t, interval))
	n.recovers(l.Ledger, r, incident.Silent(n.name), t)
	if r.Kind == incident.KindNode && n.silence != nil {
		l.mergeIfShared(t, n.silence.Began) // nodes that recover together may share a cause
	}
}

func (l *Nodes) heartbeatLate(x transition.HeartbeatLate) {
	n := l.recordTransition(x.Node, x.Time)
	if !x.Unwatched {
		n.late = x.Time
	}
	s := &silence.Silence{Node: x.Node, Began: cmp.Or(x.Last, x.Time.Add(-x.Silence)), NodeFacts: transition.NodeFacts{Announced: x.Announced}}
	if n.setBack.Time.After(s.Began) {
		s.ClockBack = n.setBack.By
	}
	l.Silences.BecameLate(s)
}

func (l *Nodes) heartbeatMissed(x transition.HeartbeatMissed) {
	n := l.recordTransition(x.Node, x.Time)
	l.Silences.NotLate(x.Node)
	began := x.Time.Add(-x.Silence)
	if !x.Loss.Last.IsZero() {
		// The silence began while the watch was broken. The first list after the break proves the silence, and shows the
		// last renewTime.
		began = x.Loss.Last
		if s := n.silence; s != nil && s.Ended.IsZero() && (s.Blind || s.BeganBlind) {
			l.Silences.Relist(s, began)
		}
	}
	n.isSilent, n.lastHeartbeat, n.trigger = true, began, x.Loss.Trigger
	n.beginSilence(l.Ledger, n.lastHeartbeat, x.Loss).Read = x.Read
	r := l.lose(n, x.Time, x.Loss, x.Silence)
	l.openGap(r, n, x.Time)
	r.Evidence.Add(n.entry(incident.HeartbeatMissed, x.Time, x.Silence))
}

// openGap adds a node's silence to an incident.
func (l *Nodes) openGap(r *ledger.Record, n *node, t time.Time) {
	r.HeartbeatLost = true
	r.Evidence.Add(n.entry(incident.LastHeartbeat, n.lastHeartbeat, 0))
	if n.late.After(n.lastHeartbeat) && r.Kind != incident.KindGracePeriod {
		r.Evidence.Add(n.entry(incident.HeartbeatLate, n.late, min(n.late.Sub(n.lastHeartbeat), l.Silences.Settings.Period/2)))
	}
	r.Fails(incident.Silent(n.name), n.lastHeartbeat)
	r.Failed(t)
	l.Touch(r, t)
	if r.Kind == incident.KindGracePeriod {
		l.Timers.Schedule(&n.timer, n.lastHeartbeat.Add(l.Silences.Settings.Shortest()))
	}
}
