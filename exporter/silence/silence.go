// Package silence keeps what kubeflap has seen of the silences of nodes: those in which nodes were lost, and late heartbeats.
package silence

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// Silence is the loss of a node: heartbeats are missing, or the node controller set Ready to Unknown.
type Silence struct {
	Node string
	// Began is the time of the last heartbeat before the silence. Ended is the time of the first heartbeat after the
	// silence, or zero if the silence is ongoing. Both are measured by kubeflap's clock.
	Began, Ended time.Time
	// NodeFacts holds what the tracker reported when the node was lost, or when Ready turned Unknown.
	transition.NodeFacts
	// Rebooted reports whether the node's bootID changed after Began. Upgraded reports whether its kubeletVersion
	// changed.
	Rebooted, Upgraded bool
	// Deleted is the earliest possible time of the Node's deletion. It is zero if the Node was not deleted.
	Deleted time.Time
	// Marked reports whether the node controller set Ready to Unknown. MarkedAt is the time at which kubeflap saw this.
	Marked   bool
	MarkedAt time.Time
	// MarkedInTime reports whether MarkedAge was shorter than the grace period when Ready turned Unknown, or the controller
	// acted on outdated Leases for another reason (see MarkedTooEarly).
	MarkedInTime bool
	// NotMarked reports whether the node controller left the silent node Ready for too long, although the API server
	// answered. NotMarkedCertain reports whether a fault of the node controller is the only explanation.
	NotMarked, NotMarkedCertain bool
	// Blind reports whether kubeflap's own watch was broken during the silence. If so, kubeflap may have missed
	// heartbeats. BeganBlind reports whether the silence is proven, but began while the watch was broken. Began is then
	// the time at which the watch was restored. EndedBlind reports whether the silence may have ended while the watch
	// was broken.
	Blind, BeganBlind, EndedBlind bool
	// Relisted reports whether kubeflap knows the last renewal only from the first list after a break of its watch.
	// Began is then the renewTime, by the node's own clock.
	Relisted bool
	// Read reports whether a direct read of Leases confirmed that the node sent no heartbeat for the whole grace
	// period.
	Read bool
	// ClockBack is the step by which the node's clock was set back, or 0. After such a step, the node controller
	// ignores the node's heartbeats for a while.
	ClockBack time.Duration
	// Short reports whether the grace period has not ended before the end of the silence. Such a silence has no incident.
	// Arrived reports whether a heartbeat ended the silence after an interval that kubeflap measured.
	Short, Arrived bool
	// MayBeReboot reports whether the node reported a new bootID soon after the silence. The report may be delayed, so
	// the reboot may have caused this silence or a newer one.
	MayBeReboot bool
	// Judgement is the decision about the silence, or nil if there is none yet.
	Judgement *Judgement
	// Found holds facts about a silence that began before kubeflap started watching. Began is then measured by the
	// node's own clock.
	Found Found
}

// Found holds what kubeflap's first lists of objects show about a silence. The zero value means that kubeflap saw the
// silence begin.
type Found struct {
	// Is reports whether the silence began before kubeflap started watching.
	Is bool
	// InDoubt reports whether the last heartbeat is too recent to explain the status Unknown. In this case, the node
	// had already recovered, the status was wrong, or the clocks differ.
	InDoubt bool
	// Marked is the time at which the node controller set Ready to Unknown, by the controller's clock. It is zero if
	// Ready was not Unknown.
	Marked time.Time
}

// IsDeleted reports whether the Node was deleted while it was silent.
func (s *Silence) IsDeleted() bool { return !s.Deleted.IsZero() && s.Ended.IsZero() }

// IsOngoing reports whether the silence is ongoing: no heartbeat has ended it, and the Node still exists.
func (s *Silence) IsOngoing() bool { return s.Ended.IsZero() && s.Deleted.IsZero() }

// If a Node is deleted within goneWithin of its last heartbeat, its machine may have been reclaimed. The
// cloud-controller-manager deletes a Node without a machine soon after the Node stops being Ready (node lifecycle
// controller of cloud-provider, MonitorNodes). If the Node is deleted later, the machine probably failed first.
const goneWithin = 10 * time.Minute

// IsGone reports whether the node's machine may have been reclaimed.
func (s *Silence) IsGone() bool { return s.IsDeleted() && s.Deleted.Sub(s.Began) <= goneWithin }

// IsMeasured reports whether the length of the silence is known. It is unknown if kubeflap's watch broke, or if kubeflap
// does not see heartbeats.
func (s *Silence) IsMeasured() bool { return !s.Blind && !s.Unseen && !s.EndedBlind }

// Lasted returns the duration of the silence, up to now if it is ongoing.
func (s *Silence) Lasted(now time.Time) time.Duration {
	switch {
	case !s.Ended.IsZero():
		return s.Ended.Sub(s.Began)
	case !s.Deleted.IsZero():
		return s.Deleted.Sub(s.Began)
	}
	return now.Sub(s.Began)
}

// Explained reports whether the silence has a known cause on its own node: an announced departure, a reboot, a changed
// kubelet version, or a clock that was set back.
func (s *Silence) Explained() bool {
	return s.Announced != "" || s.Rebooted || s.Upgraded || s.ClockBack > 0
}

// IsOwn reports whether the verdict about the silence names nothing that the node shares with others.
func (s *Silence) IsOwn() bool {
	return s.Judgement == nil || s.Judgement.Reviewed().Class() != verdict.ClassShared
}
