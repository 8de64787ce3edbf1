package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
)

// handleUnreportedHeartbeat handles a heartbeat that the tracker may not have reported, because it did not know the
// interval before the heartbeat. Such a heartbeat can end a silence.
func (l *nodes) handleUnreportedHeartbeat(n *node, t time.Time) {
	switch s := n.silence; {
	case !n.isSilent || !t.After(n.lastHeartbeat):
		n.endSilence(t)
	case s != nil && s.EndedBlind:
		l.handleHeartbeat(n, t, 0) // the node may have sent other heartbeats while the watch was broken
	default:
		l.handleHeartbeat(n, t, t.Sub(n.lastHeartbeat))
	}
}

// sawWhole records that kubeflap measured a heartbeat interval that began at `from`. Therefore, a silence within this
// interval did not end while the watch was broken.
func (n *node) sawWhole(from time.Time) {
	if s := n.silence; s != nil && s.Ended.IsZero() && !from.After(s.Began) {
		s.EndedBlind = false
	}
}

// handleHeartbeat handles a heartbeat. The parameter interval is the time since the previous heartbeat, or 0 if
// unknown.
func (l *nodes) handleHeartbeat(n *node, t time.Time, interval time.Duration) {
	n.endSilence(t)
	if l.records.IsLate(interval) {
		l.records.RecordLateHeartbeat(n.name, t, interval, l.count())
	}
	r := n.current(t)
	if r == nil {
		n.isSilent = false
		return
	}
	if n.isSilent && r.Kind == record.KindGracePeriod && interval > l.intervalWithLostHeartbeat() {
		r = l.outgrow(n, n.lastHeartbeat.Add(l.intervalWithLostHeartbeat()))
	}
	r.Longest = max(r.Longest, interval)
	if !n.isSilent {
		return
	}
	n.isSilent = false
	r.Evidence.Add(evidence.Entry{Kind: evidence.HeartbeatSeen, Time: t, Name: n.name, Duration: interval})
	n.silenceSpan = n.silenceSpan.End(t)
	l.close(r, n, t)
	if r.Kind == record.KindNode && n.silence != nil {
		l.mergeIfShared(t, n.silence.Began) // nodes that recover together may share a cause
	}
}
