package correlate

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

type nodeLoss struct {
	at   time.Time
	node *node
}

// current returns the incident to which the node belongs at t, or nil if there is none.
func (n *node) current(t time.Time) *record.Record {
	if n.record == nil {
		return nil
	}
	n.record = n.record.Root()
	if n.record.HasEndedBy(t) {
		n.record, n.silenceSpan, n.notReadySpan = nil, nil, nil
	}
	return n.record
}

// lose records that a node was lost. The parameter gap is the time without heartbeats. The result is the incident to
// which the node belongs according to the evidence so far.
func (l *nodes) lose(n *node, t time.Time, x transition.NodeLoss, gap time.Duration) *record.Record {
	if !x.Renewed.IsZero() {
		n.renewed = x.Renewed
	}
	r := l.recordOf(n, t, x, gap)
	l.noteLoss(n, t)
	near := t
	if n.silence != nil {
		near = n.silence.Began
		r.AddSilence(n.silence)
		if x.GracePeriod > 0 {
			l.records.ControlPlane.AsOf = x.ControlPlane
		}
		l.addStopped(r, n.silence.Began)
		if n.silence.ClockBack > 0 {
			r.Evidence.Add(evidence.Entry{Kind: evidence.ClockSetBack, Time: n.setBack, Name: n.name, Duration: n.setBackBy})
		}
	}
	if r.Kind == record.KindNode {
		l.mergeIfShared(t, near)
		l.mergeClocks(t)
		r = r.Root()
	}
	return r
}

// recordOf returns the node's current incident. If there is none, it assigns the node to an incident of several nodes,
// or to an incident of its own.
func (l *nodes) recordOf(n *node, t time.Time, x transition.NodeLoss, gap time.Duration) *record.Record {
	short := l.graceTooShort() && gap <= l.records.Undisturbed() && !x.Unseen
	if r := n.current(t); r != nil {
		if _, open := r.Open.Nodes[n.name]; open || !short || gap == 0 || x.InTime() || r.Kind == record.KindGracePeriod {
			return r
		}
		// The node had recovered. Its new loss belongs to a grace-period incident (record.KindGracePeriod).
		n.record, n.silenceSpan, n.notReadySpan = nil, nil, nil
	}
	s := record.Subject{Kind: record.KindNode, Name: n.name, Cause: cause.NodeHeartbeatLost}
	switch {
	case x.InTime():
		s.Kind, s.Name = record.KindControllerManager, "kube-controller-manager"
	case short:
		s.Kind, s.Name = record.KindGracePeriod, "kube-controller-manager"
	case n.silence != nil && n.silence.ClockBack > 0 && l.records.Find(record.ClocksSubject(), t) != nil && l.lostLately(t):
		s = record.ClocksSubject()
	case gap > 0 && !x.Found:
		if near, ok := l.controlPlaneOf(n, t); ok {
			s = near
		}
	}
	n.record = l.records.Begin(s, t, x.Trigger)
	n.record.AddNode(n.name)
	n.record.KnownNodes = max(n.record.KnownNodes, l.count())
	return n.record
}

// controlPlaneOf returns the subject of the control-plane incident whose nodes fell silent together with the lost node
// n. If the start of n's silence is unknown, it is sufficient that any node was lost recently.
func (l *nodes) controlPlaneOf(n *node, t time.Time) (s record.Subject, ok bool) {
	if n.silence != nil && n.silence.Ended.IsZero() {
		return l.records.ControlPlaneNear(n.silence.Began, t, l.records.CommonCauseWindow())
	}
	return record.ControlPlaneSubject(), l.records.Find(record.ControlPlaneSubject(), t) != nil && l.lostLately(t)
}

// recordOfPod returns the incident of a node whose failure affected the pod x.
func (l *nodes) recordOfPod(x transition.Pod, t time.Time, why cause.Cause, trigger uint64) *record.Record {
	gap := time.Duration(0)
	if why != cause.NodeHeartbeatLost {
		gap = l.records.Undisturbed() + 1
	}
	r := l.recordOf(l.named(x.Node), t, transition.NodeLoss{Trigger: trigger}, gap)
	r.HeartbeatLost = r.HeartbeatLost || why == cause.NodeHeartbeatLost
	return r
}

// graceTooShort reports whether the grace period is too short even for punctual heartbeats.
func (l *nodes) graceTooShort() bool {
	return l.records.GracePeriod > 0 && l.records.GracePeriod <= l.records.Undisturbed()
}

// lostLately reports whether a node was lost shortly before t. If so, a loss at t may have the same cause.
func (l *nodes) lostLately(t time.Time) bool {
	n := len(l.losses)
	return n > 0 && t.Sub(l.losses[n-1].at) <= max(l.records.CommonCauseWindow(), record.Quiet)
}

func (l *nodes) noteLoss(n *node, t time.Time) {
	together := l.records.CommonCauseWindow()
	if !n.lostAt.IsZero() && t.Sub(n.lostAt) <= together {
		return
	}
	n.lostAt = t
	l.losses = append(l.losses, nodeLoss{t, n})
	if old := slices.IndexFunc(l.losses, func(x nodeLoss) bool { return t.Sub(x.at) <= together }); old > 0 {
		l.losses = slices.Delete(l.losses, 0, old)
	}
}

// mergeIfShared merges incidents of single nodes whose silences have a common cause, such as etcd or the network. The
// result is a control-plane incident. The parameter `near` is the start of one of these silences.
func (l *nodes) mergeIfShared(t, near time.Time) {
	within := l.records.CommonCauseWindow() + record.Quiet
	recent := l.records.History.After(near.Add(-within))
	recent = slices.DeleteFunc(recent, func(s *verdict.Silence) bool { return s.Began.After(near.Add(within)) })
	f := l.records.NodeLoss(recent, l.count())
	if together := verdict.SimultaneousSilences(f); len(together) > 0 {
		s, _ := l.records.ControlPlaneNear(together[0].Began, t, l.records.CommonCauseWindow())
		l.merge(together, s, t)
	}
	l.merge(verdict.SuccessiveSilences(f), record.ControlPlaneSubject(), t)
}

// mergeClocks merges incidents of single nodes whose clocks were set back together.
func (l *nodes) mergeClocks(t time.Time) {
	l.merge(l.records.History.SetBackTogether(t.Add(-l.records.CommonCauseWindow()-record.Quiet), l.records.Undisturbed()), record.ClocksSubject(), t)
}

// merge merges incidents of single nodes into one. The parameter `shared` holds their silences, which have a common
// cause. The incident keeps the ID of the node with the earliest renewTime.
func (l *nodes) merge(shared []*verdict.Silence, into record.Subject, t time.Time) {
	var lost []*node
	for _, s := range shared {
		n := l.troubled[s.Node]
		if n == nil {
			continue
		}
		if r := n.current(t); r != nil && r.Kind == record.KindNode {
			lost = append(lost, n)
		}
	}
	if len(lost) == 0 {
		return
	}
	slices.SortStableFunc(lost, func(a, b *node) int { return cmp.Or(a.renewed.Compare(b.renewed), cmp.Compare(a.trigger, b.trigger)) })
	var some []*record.Record
	for _, n := range lost {
		if !slices.Contains(some, n.record) {
			some = append(some, n.record)
		}
	}
	all := l.records.MergeNodes(some, into, t)
	all.KnownNodes = max(all.KnownNodes, l.count())
}

// handleTimer moves a node out of a grace-period incident (record.KindGracePeriod) if the node has missed more than one
// heartbeat.
func (l *nodes) handleTimer(n *node, t time.Time) {
	switch due := n.lastHeartbeat.Add(l.intervalWithLostHeartbeat()); {
	case !n.isSilent:
	case due.After(t):
		l.records.Timers.Schedule(&n.timer, due)
	default:
		l.outgrow(n, due)
	}
}

// outgrow moves a node from a grace-period incident to the node's own incident. The node missed more than one
// heartbeat, so a longer grace period would not have helped.
func (l *nodes) outgrow(n *node, t time.Time) *record.Record {
	r := n.current(t)
	if r == nil || r.Kind != record.KindGracePeriod || !n.isSilent {
		return r
	}
	delete(r.Open.Nodes, n.name)
	n.silenceSpan, n.notReadySpan = n.silenceSpan.End(t), n.notReadySpan.End(t)
	l.records.Touch(r, t)
	r.DropSilence(n.silence)
	n.record, n.lostAt = nil, time.Time{}
	own := l.lose(n, t, transition.NodeLoss{Trigger: n.trigger, Renewed: n.renewed}, t.Sub(n.lastHeartbeat))
	l.openGap(own, n, t)
	own.Evidence.Add(evidence.Entry{Kind: evidence.HeartbeatMissed, Time: t, Name: n.name, Duration: t.Sub(n.lastHeartbeat)})
	if n.notReady {
		n.notReadySpan = own.Timeline.Begin(incident.TrackNode, n.name, t)
	}
	return own
}
