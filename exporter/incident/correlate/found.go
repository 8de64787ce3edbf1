package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// nodeFoundLost handles a node that was lost before kubeflap began to watch it.
func (l *nodes) nodeFoundLost(x transition.NodeFoundLost) {
	n := l.recordTransition(x.Node, x.Time)
	if x.Loss.GracePeriod > 0 {
		l.records.GracePeriod = x.Loss.GracePeriod
	}
	l.records.Managed = x.Loss.Managed
	l.records.History.RemoveLate(x.Node)
	fellSilent := x.Time.Add(-x.Silence)
	s := l.beginSilence(n, fellSilent, x.Loss)
	s.Marked, s.MarkedAge = x.Unknown, x.Loss.MarkedAge
	s.Found = verdict.Found{Is: true, InDoubt: x.InDoubt, Marked: x.Marked, Perhaps: x.Loss.Perhaps, Returned: x.Loss.Returned}
	r := l.lose(n, x.Time, x.Loss, x.Silence)
	r.HeartbeatLost = true
	r.Found++
	r.Open.Nodes[n.name] = n.renewed
	if !x.InDoubt && x.Silence > 0 {
		n.isSilent, n.lastHeartbeat, n.trigger = true, fellSilent, x.Loss.Trigger
		n.silenceSpan = r.Timeline.Begin(incident.TrackHeartbeat, n.name, fellSilent)
		r.Evidence.Add(evidence.Entry{Kind: evidence.HeartbeatBefore, Time: fellSilent, Name: n.name})
		r.MoveStartBack(fellSilent.Add(l.records.CommonCauseWindow()))
	}
	if x.Unknown {
		n.notReady = true
		r.FoundUnknown++
		since := x.Time
		if !x.Marked.IsZero() && x.Marked.Before(since) {
			since = x.Marked
			r.Evidence.Add(evidence.Entry{Kind: evidence.UnknownBefore, Time: since, Name: n.name})
		}
		n.notReadySpan = r.Timeline.Begin(incident.TrackNode, n.name, since)
		r.MoveStartBack(since)
	}
	r.Evidence.Add(evidence.Entry{Kind: evidence.FoundLost, Time: x.Time, Name: n.name})
	l.records.Touch(r, x.Time)
}

// foundSince corrects the start of a silence once the offset of the node's clock is known.
func (n *node) foundSince(began time.Time) {
	if s := n.silence; s != nil && s.Ended.IsZero() {
		s.Began = began
	}
}
