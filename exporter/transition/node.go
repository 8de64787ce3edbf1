package transition

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// OfNode is the time of a transition, and the name of the node that it concerns.
type OfNode struct {
	At
	Node string
}

// Fields returns the names of the affected objects, for structured log lines.
func (x OfNode) Fields() Fields { return Fields{Node: x.Node} }

func (x OfNode) says(format string, args ...any) string {
	return "node " + x.Node + ": " + fmt.Sprintf(format, args...)
}

// HeartbeatSeen means that a heartbeat of the node arrived.
type HeartbeatSeen struct {
	OfNode
	// Interval is the time since the previous heartbeat.
	Interval time.Duration
	// Unwatched is set if the interval started before kubeflap began to watch the node. If so, Interval is measured by
	// the node's clock.
	Unwatched bool
}

func (x HeartbeatSeen) String() string { return x.says("heartbeat after %s", round(x.Interval)) }

// HeartbeatsResumed means that a silent node sends heartbeats again. The length of the silence is unknown, because the
// node may have sent heartbeats while the watch was broken.
type HeartbeatsResumed struct {
	OfNode
}

func (x HeartbeatsResumed) String() string {
	return x.says("sends heartbeats again (they may have resumed while kubeflap did not watch)")
}

// HeartbeatLate means that no heartbeat arrived for half the grace period.
type HeartbeatLate struct {
	OfNode
	// Silence is the time without a heartbeat, which equals half the grace period.
	Silence time.Duration
	// Announced describes how the node's removal was announced, such as "a cordon". It ignores announcements that came
	// after the heartbeat was due.
	Announced string
	// Unwatched is set if the heartbeat was already late by the node's clock when kubeflap began to watch the node.
	// Counters do not include such heartbeats.
	Unwatched bool
	// Last is the time of the node's last renewal according to the first list after a break of the watch. It is zero if
	// unknown.
	Last time.Time
}

func (x HeartbeatLate) String() string {
	return x.says("no heartbeat for %s (half of the grace period)", round(x.Silence))
}

// HeartbeatMissed means that no heartbeat arrived for the whole grace period.
type HeartbeatMissed struct {
	OfNode
	// Silence is the time without a heartbeat, which equals the grace period.
	Silence time.Duration
	// Read is set if a direct read of Leases confirmed that the node sent no heartbeat.
	Read bool
	Loss NodeLoss
}

func (x HeartbeatMissed) String() string {
	return x.says("no heartbeat for %s (the whole grace period)", round(x.Silence))
}

// NodeFoundLost means that the node was lost before kubeflap began to watch it. In the first list, the node is Unknown,
// or its Lease is older than the grace period. Before kubeflap reports an old Lease, it waits for one more heartbeat
// interval. Counters do not include such losses.
type NodeFoundLost struct {
	OfNode
	// Silence is the time since the last heartbeat, as measured by the node's own clock. It is 0 if unknown.
	Silence time.Duration
	// Unknown is set if the node controller had set Ready to Unknown. Marked is the time of that change by the
	// controller's clock, or zero if unknown.
	Unknown bool
	Marked  time.Time
	// InDoubt is set if the last heartbeat is too recent for the status Unknown. The node may have recovered, the
	// status may be wrong, or the clocks may differ.
	InDoubt bool
	Loss    NodeLoss
}

func (x NodeFoundLost) String() string {
	s := x.says("lost before kubeflap started")
	if x.Unknown {
		s = x.says("Unknown before kubeflap started")
	}
	if x.Silence > 0 {
		s += fmt.Sprintf(", last heartbeat %s ago by the node's clock", round(x.Silence))
	}
	return s
}

// NodeFoundNotReady means that the node was Ready=False before kubeflap began to watch it, but had not been so since its
// creation. Counters do not include such nodes.
type NodeFoundNotReady struct {
	OfNode
	// Since is the time at which the node became Ready=False, by the node's own clock. It is zero if unknown.
	Since time.Time
	// Says holds the kubelet's reason and message.
	Says    event.Words
	Trigger uint64
}

func (x NodeFoundNotReady) String() string {
	s := x.says("not Ready before kubeflap started")
	if x.Says != (event.Words{}) {
		s += ": " + x.Says.String()
	}
	return s
}

// ClockSetBack means that the node's clock was set back. The node controller ignores the node's heartbeats until the
// clock passes the newest renewTime.
type ClockSetBack struct {
	OfNode
	// `By` is the size of the step, computed from the renewals. InDoubt is the time for which the node controller may ignore
	// renewals that seem to count, because kubeflap did not watch when the clock was set back.
	By, InDoubt time.Duration
}

func (x ClockSetBack) String() string {
	return x.says("clock set back by %s. The node controller ignores heartbeats until their timestamps exceed the last accepted timestamp", round(x.By))
}

// HeartbeatsWereInTime means that an apparent silence was only a delay of the watch. By the node's clock, the
// heartbeats were on time.
type HeartbeatsWereInTime struct {
	OfNode
	Silence time.Duration
}

func (x HeartbeatsWereInTime) String() string {
	return x.says("heartbeats were on time, but the watch delivered them up to %s late", round(x.Silence))
}

// NodeReadyChanged means that the node's Ready condition changed.
type NodeReadyChanged struct {
	OfNode
	From, To event.Status
	// Lasted is how long Ready had the status From. If Complete is false, Lasted is a lower bound.
	Lasted   time.Duration
	Complete bool
	// Silence is the time since the last heartbeat, or 0 if no heartbeat is known.
	Silence time.Duration
	// Says holds the kubelet's reason and message if To is False.
	Says event.Words
	// Loss is set if To is Unknown. If To is False, only the Trigger and Announced fields of Loss are set.
	Loss NodeLoss
}

func (x NodeReadyChanged) String() string {
	least := ""
	if !x.Complete {
		least = "at least "
	}
	s := x.says("Ready %s -> %s", x.From, x.To)
	if lasted := round(x.Lasted); lasted > 0 {
		s += fmt.Sprintf(" (%s for %s%s)", x.From, least, lasted)
	}
	if age := x.HeartbeatAge(); x.To != event.StatusTrue && age > 0 {
		s += fmt.Sprintf(", last heartbeat %s ago", round(age))
	}
	if x.Says != (event.Words{}) {
		s += ": " + x.Says.String()
	}
	return s
}

// NotReadyReason means that the kubelet of a node that is not Ready gives another reason or message, or that a new node is
// not Ready yet.
type NotReadyReason struct {
	OfNode
	Says event.Words
}

func (x NotReadyReason) String() string { return x.says("not Ready: %s", x.Says) }

// NodeProblem means that another condition turned True while the node was not Ready, or shortly before.
type NodeProblem struct {
	OfNode
	// Condition is the type of the condition, such as DiskPressure.
	Condition string
	Says      event.Words
}

func (x NodeProblem) String() string { return x.says("%s", x.Words()) }

// Words returns the transition as a statement about the condition.
func (x NodeProblem) Words() event.Words {
	return event.Words{Reason: "condition " + x.Condition + " turned True", Message: x.Says.String()}
}

// HeartbeatAge returns the age of the newest heartbeat when Ready changed, or 0 if it is unknown. Nodes and Leases have
// separate watches, so kubeflap may see a heartbeat before an older change to Unknown.
func (x NodeReadyChanged) HeartbeatAge() time.Duration {
	if x.To == event.StatusUnknown && x.Loss.MarkedAge == 0 && x.Silence < x.Loss.GracePeriod {
		return 0
	}
	return x.Silence
}

// NodeNotMarked means that a silent node is still Ready after the grace period and the node controller's usual delay.
// The API server answers, so the node controller may be stuck or may leave silent nodes Ready on purpose.
type NodeNotMarked struct {
	OfNode
	// Silence is the time since the last heartbeat.
	Silence time.Duration
	// Certain is set if only the node controller can be at fault. Otherwise, an unseen leader change may have restarted
	// the grace period, or the grace period may be longer than the default.
	Certain bool
	Loss    NodeLoss
}

func (x NodeNotMarked) String() string {
	return x.says("no heartbeat for %s, but the node controller has not set Ready to Unknown", round(x.Silence))
}

// NodeReadyMissed means that Ready changed from Status to another status and back while the watch was broken.
type NodeReadyMissed struct {
	OfNode
	Status  event.Status
	Trigger uint64
}

func (x NodeReadyMissed) String() string {
	return x.says("Ready changed from %s and back while the watch was broken", x.Status)
}

// NodeRebooted means that the node reports a new bootID. Reported is the time of its last report of the old one, or zero if
// kubeflap has not seen any.
type NodeRebooted struct {
	OfNode
	Reported time.Time
}

func (x NodeRebooted) String() string { return x.says("the machine was rebooted") }

// KubeletUpgraded means that the node reports a different kubelet version. Reported is the time of its last report of the
// old one, or zero if kubeflap has not seen any.
type KubeletUpgraded struct {
	OfNode
	Reported time.Time
}

func (x KubeletUpgraded) String() string { return x.says("the kubelet reports a different version") }

// NodeRemoved means that the Node was deleted.
type NodeRemoved struct {
	OfNode
	// Earliest is the earliest possible time of the deletion, or zero if unknown.
	Earliest time.Time
}

func (x NodeRemoved) String() string { return x.says("removed") }
