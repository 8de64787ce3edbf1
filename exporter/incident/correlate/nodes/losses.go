package nodes

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
	"github.com/kubeflap/kubeflap/exporter/verdict/judge"
)

// lookBack is the maximum time from a control-plane Lease's last renewal to the start of a silence. If more time has
// passed, kubeflap assumes different causes.
const lookBack = 15 * time.Second

// current returns the incident to which the node belongs at t, or nil if there is none.
func (n *node) current(t time.Time) *ledger.Record {
	if n.record == nil {
		return nil
	}
	n.record = n.record.Root()
	if n.record.HasEndedBy(t) {
		n.record = nil // later failures belong to another incident
	}
	return n.record
}

// Current returns the incident to which a node belongs at t, or nil if there is none.
func (l *Nodes) Current(name string, t time.Time) *ledger.Record {
	if n := l.troubled[name]; n != nil {
		return n.current(t)
	}
	return nil
}

// lose records that a node was lost. The parameter gap is the time without heartbeats. The result is the incident to
// which the node belongs according to the evidence so far.
func (l *Nodes) lose(n *node, t time.Time, x transition.NodeLoss, gap time.Duration) *ledger.Record {
	n.renewed = cmp.Or(x.Renewed, n.renewed)
	r := l.recordOf(n, t, x, gap)
	near := t
	if n.silence != nil {
		near = n.silence.Began
		if n.silence.Judgement == nil { // otherwise, an incident has it
			r.AddSilence(n.silence)
		}
		if x.GracePeriod > 0 {
			l.ControlPlane.AsOf = x.ControlPlane
		}
		for name, since := range l.ControlPlane.StoppedSince(near.Add(-lookBack)) {
			r.Evidence.Add(incident.LeaseStopped(name, since))
		}
		if n.silence.ClockBack > 0 {
			r.Evidence.Add(n.entry(incident.ClockSetBack, n.setBack.Time, n.setBack.By))
		}
	}
	if r.Kind == incident.KindNode {
		l.mergeIfShared(t, near)
		recent, _ := l.Silences.Recent(t.Add(-time.Hour))
		early := recent.MarkedTooEarly(l.Silences.Settings.Period, l.Silences.Settings.Undisturbed(), t)
		l.merge(early, incident.Subject{Kind: incident.KindControllerManager, Name: "kube-controller-manager", Cause: cause.NodeHeartbeatLost}, t)
		r = r.Root()
	}
	return r
}

// recordOf returns the node's current incident. If there is none, it assigns the node to an incident of several nodes,
// or to an incident of its own.
func (l *Nodes) recordOf(n *node, t time.Time, x transition.NodeLoss, gap time.Duration) *ledger.Record {
	// The grace period may be too short even for punctual heartbeats.
	grace, undisturbed := l.Silences.Settings.Period, l.Silences.Settings.Undisturbed()
	short := grace > 0 && grace <= undisturbed && gap <= undisturbed && !x.Unseen
	if r := n.current(t); r != nil && (x.Found || !n.failsAlone(l, r)) {
		if n.isOpenIn(r) || !short || gap == 0 || x.InTime() || r.Kind == incident.KindGracePeriod {
			n.join(l, r)
			return r
		}
		// The node had recovered, and its new loss belongs to a grace-period incident.
	}
	s := incident.Subject{Kind: incident.KindNode, Name: n.name, Cause: cause.NodeHeartbeatLost}
	switch {
	case x.InTime():
		s.Kind, s.Name = incident.KindControllerManager, "kube-controller-manager"
	case short:
		s.Kind, s.Name = incident.KindGracePeriod, "kube-controller-manager"
	case gap > 0 && !x.Found && n.silence != nil && n.silence.Ended.IsZero():
		if near, ok := l.ControlPlaneNear(n.silence.Began, t); ok {
			s = near
		}
	}
	return n.begin(l, s, t, x.Trigger)
}

// hasRecoveredFrom reports whether the node has recovered from a fault of several nodes. The incident of that fault can last
// much longer, because of other nodes or of lost addresses.
func (n *node) hasRecoveredFrom(r *ledger.Record) bool {
	return (r.Kind == incident.KindControlPlane || r.Kind == incident.KindControllerManager) && len(r.Silences) > 0 && !n.isOpenIn(r)
}

// wasSilentIn reports whether one of the node's silences in r ended after t.
func (n *node) wasSilentIn(r *ledger.Record, t time.Time) bool {
	return r.Silences.Any(func(x *silence.Silence) bool { return x.Node == n.name && x.Ended.After(t) })
}

// failsAlone reports whether a node that has recovered from the fault of several nodes in r has now fallen silent by itself.
func (n *node) failsAlone(l *Nodes, r *ledger.Record) bool {
	s := n.silence
	if !n.hasRecoveredFrom(r) || s == nil || !s.IsOngoing() {
		return false
	}
	if r.Silences.Any(func(x *silence.Silence) bool { return x.Began.Sub(s.Began).Abs() <= l.Silences.CommonCauseWindow() }) {
		return false
	}
	is := judge.OfNodes(l.NodeLoss(silence.List{s}, l.count())).Verdict.Class()
	return is == verdict.ClassOwn || is == verdict.ClassPlanned
}

// begin assigns the node to a new incident, or to the ongoing incident of the subject.
func (n *node) begin(l *Nodes, s incident.Subject, t time.Time, trigger uint64) *ledger.Record {
	n.record = l.Begin(s, t, trigger)
	n.join(l, n.record)
	return n.record
}

func (n *node) join(l *Nodes, r *ledger.Record) {
	l.Show(r)
	r.AddNode(n.name)
	r.KnownNodes = max(r.KnownNodes, l.count())
}

// Expect says that nodes belonged to an incident before kubeflap's observation. A node's own incident stands, because a fault
// of several nodes only interrupted it.
func (l *Nodes) Expect(nodes []string, r *ledger.Record) {
	for _, name := range nodes {
		if n := l.named(name); n.record == nil || n.record.Kind != incident.KindNode || r.Kind == incident.KindNode {
			n.record = r
		}
	}
}

// recordOfReport returns the incident of a node whose kubelet restarted or reported it as not ready. If there is none, or
// the node had recovered from a fault of several nodes some time ago, the node gets an incident of its own: such a kubelet
// reaches the API, so what silences other nodes does not explain it.
func (n *node) recordOfReport(l *Nodes, t time.Time, trigger uint64) *ledger.Record {
	r := n.current(t)
	if r == nil || n.hasRecoveredFrom(r) && !n.wasSilentIn(r, t.Add(-l.Silences.CommonCauseWindow())) {
		r = n.begin(l, incident.Subject{Kind: incident.KindNode, Name: n.name, Cause: cause.NodeHeartbeatLost}, t, trigger)
	}
	l.Show(r) // it may have begun before kubeflap's observation
	r.AddFailed(n.name)
	return r
}

// RecordOfPod returns the incident of a node whose failure affected the pod x.
func (l *Nodes) RecordOfPod(x transition.Pod, t time.Time, why cause.Cause, trigger uint64) *ledger.Record {
	n := l.named(x.Node)
	if why == cause.NodeHeartbeatLost {
		r := l.recordOf(n, t, transition.NodeLoss{Trigger: trigger}, 0)
		r.HeartbeatLost = true
		return r
	}
	r := n.recordOfReport(l, t, trigger)
	if why == cause.NodeNotReady {
		r.KubeletSaid(n.said)
	}
	return r
}

// mergeIfShared merges incidents of single nodes whose silences began together and have a common cause, such as etcd or the
// network. The result is a control-plane incident. The parameter `near` is the start of one of these silences.
func (l *Nodes) mergeIfShared(t, near time.Time) {
	within := l.Silences.CommonCauseWindow() + ledger.Quiet
	recent, _ := l.Silences.Recent(near.Add(-within))
	recent = slices.DeleteFunc(recent, func(s *silence.Silence) bool { return s.Began.Sub(near).Abs() > within })
	f := l.NodeLoss(recent, l.count())
	if together := judge.SimultaneousSilences(f); len(together) > 0 {
		s, _ := l.ControlPlaneNear(together[0].Began, t)
		l.merge(together, s, t)
	}
}

// merge merges incidents of single nodes into one. The parameter `shared` holds their silences, which have a common
// cause. The incident keeps the ID of the node with the earliest renewTime. If the incident of a node began before its
// silence, it has another reason, and goes on without the silence.
func (l *Nodes) merge(shared silence.List, into incident.Subject, t time.Time) {
	of := func(s *silence.Silence) *ledger.Record {
		if n := l.troubled[s.Node]; n != nil {
			if r := n.current(t); r != nil && r.Kind == incident.KindNode && slices.Contains(r.Silences, s) {
				return r
			}
		}
		return nil
	}
	own := shared.Filter(func(s *silence.Silence) bool { return of(s) != nil })
	began := own.Filter(func(s *silence.Silence) bool { return s.Found.Is || !of(s).Start.Before(s.Began) })
	switch {
	case len(own) == 0:
		return
	case len(began) == 0 && l.Find(into, t) == nil:
		began = own
	}
	var lost []*node
	for _, s := range began {
		lost = append(lost, l.troubled[s.Node])
	}
	slices.SortStableFunc(lost, func(a, b *node) int { return cmp.Or(a.renewed.Compare(b.renewed), cmp.Compare(a.trigger, b.trigger)) })
	var some []*ledger.Record
	for _, n := range lost {
		if !slices.Contains(some, n.record) {
			some = append(some, n.record)
		}
	}
	all := l.Merge(some, into, t)
	all.KnownNodes = max(all.KnownNodes, l.count())
	for _, s := range own {
		if r := of(s); r != nil {
			r.DropSilence(s)
			all.AddSilence(s)
			all.AddNode(s.Node)
		}
	}
}

// handleTimer moves a node out of a grace-period incident (incident.KindGracePeriod) if the node has missed more than
// one heartbeat.
func (l *Nodes) handleTimer(n *node, t time.Time) {
	switch due := n.lastHeartbeat.Add(l.Silences.Settings.Shortest()); {
	case !n.isSilent:
	case due.After(t):
		l.Timers.Schedule(&n.timer, due)
	default:
		l.outgrow(n, due)
	}
}

// outgrow moves a node from a grace-period incident to the node's own incident. The node missed more than one
// heartbeat, so a longer grace period would not have helped.
func (l *Nodes) outgrow(n *node, t time.Time) *ledger.Record {
	r := n.current(t)
	if r == nil || r.Kind != incident.KindGracePeriod || !n.isSilent {
		return r
	}
	r.Recovers(incident.Silent(n.name), t)
	r.Recovers(incident.NotReady(n.name), t)
	l.Touch(r, t)
	r.DropSilence(n.silence)
	n.record = nil
	gap := t.Sub(n.lastHeartbeat)
	own := l.lose(n, t, transition.NodeLoss{Trigger: n.trigger, Renewed: n.renewed}, gap)
	l.openGap(own, n, t)
	own.Evidence.Add(n.entry(incident.HeartbeatMissed, t, gap))
	if n.notReady {
		own.Fails(incident.NotReady(n.name), t)
	}
	return own
}

// nodeNotMarked records that a silent node is still Ready after the grace period. All nodes with the verdict
// ControllerManager form one incident.
func (l *Nodes) nodeNotMarked(x transition.NodeNotMarked) {
	n := l.recordTransition(x.Node, x.Time)
	s := n.silence
	if s == nil || !s.Ended.IsZero() {
		// The node fell silent before kubeflap started.
		s = n.beginSilence(l.Ledger, x.Time.Add(-x.Silence), x.Loss)
	}
	s.NotMarked, s.NotMarkedCertain, s.Guessed = true, x.Certain, x.Loss.Guessed
	r := l.lose(n, x.Time, x.Loss, x.Silence)
	if !n.isSilent {
		n.isSilent, n.lastHeartbeat, n.trigger = true, s.Began, x.Loss.Trigger
		l.openGap(r, n, x.Time)
	}
	r.Evidence.Add(n.entry(incident.NodeNotMarked, x.Time, x.Silence))
	alone := judge.OfNodes(l.NodeLoss(silence.List{s}, l.count()))
	if r.Kind == incident.KindNode && alone.Verdict == verdict.ControllerManager {
		r = l.Merge([]*ledger.Record{r}, incident.Subject{Kind: incident.KindControllerManager, Name: "kube-controller-manager", Cause: cause.NodeHeartbeatLost}, x.Time)
		r.KnownNodes = max(r.KnownNodes, l.count())
	}
	l.Touch(r, x.Time)
}
