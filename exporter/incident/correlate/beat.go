package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
)

// beatBefore handles a heartbeat that the tracker may not have reported. The tracker did not know the interval before
// this heartbeat. Such a heartbeat can end a silence.
func (l *nodes) beatBefore(n *node, t time.Time) {
	switch s := n.silence; {
	case !n.missed || !t.After(n.gapFrom):
		n.endSilence(t)
	case s != nil && s.EndedBlind:
		l.beat(n, t, 0) // the node may have sent other heartbeats while the watch was broken
	default:
		l.beat(n, t, t.Sub(n.gapFrom))
	}
}

// sawWhole records that kubeflap measured a heartbeat interval. The parameter from is the start of the interval. A
// silence within the interval did not end while the watch was broken.
func (n *node) sawWhole(from time.Time) {
	if s := n.silence; s != nil && s.Ended.IsZero() && !from.After(s.Began) {
		s.EndedBlind = false
	}
}

// beat handles a heartbeat. The parameter interval is the time since the previous heartbeat, or 0 if unknown.
func (l *nodes) beat(n *node, t time.Time, interval time.Duration) {
	n.endSilence(t)
	if l.records.IsLate(interval) {
		l.records.Returned(n.name, t, interval, l.count())
	}
	r := n.current(t)
	if r == nil {
		n.missed = false
		return
	}
	if n.missed && r.Kind == record.KindGracePeriod && interval > l.oneBeatLost() {
		r = l.outgrow(n, n.gapFrom.Add(l.oneBeatLost()))
	}
	r.Longest = max(r.Longest, interval)
	if !n.missed {
		return
	}
	n.missed = false
	r.Evidence.Add(evidence.Entry{Kind: evidence.HeartbeatSeen, Time: t, Name: n.name, Duration: interval})
	n.gap = n.gap.End(t)
	l.close(r, n, t)
	if r.Kind == record.KindNode && n.silence != nil {
		l.mergeIfShared(t, n.silence.Began) // nodes that recover together may share a cause
	}
}
