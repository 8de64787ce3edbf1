package transition

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// HeartbeatSeen means that a heartbeat of the node arrived.
type HeartbeatSeen struct {
	At
	Node string
	// Interval is the time since the heartbeat before.
	Interval time.Duration
	// Unwatched: the interval began before kubeflap watched the node. Its length is computed from the node's own clock and does
	// not count as a measurement.
	Unwatched bool
}

// Fields returns the names for a structured log line.
func (x HeartbeatSeen) Fields() Fields { return Fields{Node: x.Node} }

func (x HeartbeatSeen) String() string {
	return fmt.Sprintf("node %s: heartbeat after %s", x.Node, round(x.Interval))
}

// HeartbeatLate means that no heartbeat arrived for half of the grace period.
type HeartbeatLate struct {
	At
	Node string
	// Silence is the time without a heartbeat, which equals half of the grace period.
	Silence time.Duration
	// Announced is what announced the departure of the node before its next heartbeat was due; empty if nothing did.
	Announced string
	// Unwatched: that was so before kubeflap watched, by the node's own clock. It is not counted.
	Unwatched bool
	// Last is as in NodeLoss.
	Last time.Time
}

// Fields returns the names for a structured log line.
func (x HeartbeatLate) Fields() Fields { return Fields{Node: x.Node} }

func (x HeartbeatLate) String() string {
	return fmt.Sprintf("node %s: no heartbeat for %s, half of the grace period", x.Node, round(x.Silence))
}

// HeartbeatMissed means that no heartbeat arrived for the whole grace period.
type HeartbeatMissed struct {
	At
	Node string
	// Silence is the time without a heartbeat, which equals the grace period.
	Silence time.Duration
	// Read: a direct read of Leases has shown that there was none.
	Read bool
	Loss NodeLoss
}

// NodeLoss identifies the loss of a node.
type NodeLoss struct {
	// Trigger identifies the write in the cluster that the loss began with: the same for every watcher, 0 if it is not known.
	Trigger uint64
	// Renewed is the node's last renewTime, by the node's clock; zero if it has no Lease.
	Renewed time.Time
	// Announced is what announced the departure of the node before the heartbeat after its last one was due; empty if nothing did. AnnouncedAfter: after
	// the last one.
	Announced      string
	AnnouncedAfter bool
	// MarkedAge is the age of the newest heartbeat that the node controller must have seen when it set Ready to Unknown; 0 if it did
	// not, or if that age is not known.
	MarkedAge time.Duration
	// GracePeriod is the one in force, 0 while it is not known. Managed: the cloud runs the control plane, so nobody can set its flags.
	GracePeriod time.Duration
	Managed     bool
	// ControlPlane is what is known of the control plane at the loss.
	ControlPlane ControlPlane
	// Blind: kubeflap's watch was broken in the time since the last heartbeat, so there may have been others.
	Blind bool
	// Last is when a node whose silence began while the watch was broken last renewed its Lease, as the list after that has shown; zero if that is not known.
	Last time.Time
	// Unseen: the heartbeats of the node cannot be seen, only status reports that may be 5 min apart.
	Unseen bool
	// Labels say what the node shares with others; nil if they are not known.
	Labels []NodeLabel
	// Found: the node was lost before kubeflap watched it. Then Perhaps is what may have announced its departure, before the loss or after it, and
	// Returned is how many other nodes had turned Ready soon after it fell silent.
	Found    bool
	Perhaps  string
	Returned int
}

// NodeLabel is a label, and how many nodes have it.
type NodeLabel struct {
	Key, Value string
	Nodes      int
}

// InTime reports whether the node controller set Ready to Unknown although the newest heartbeat was younger than the grace period.
func (x NodeLoss) InTime() bool { return x.MarkedAge > 0 && x.MarkedAge < x.GracePeriod }

// Fields returns the names for a structured log line.
func (x HeartbeatMissed) Fields() Fields { return Fields{Node: x.Node} }

func (x HeartbeatMissed) String() string {
	return fmt.Sprintf("node %s: no heartbeat for %s, the whole grace period", x.Node, round(x.Silence))
}

// NodeFoundLost means that the node was lost before kubeflap watched it: the first list shows it Unknown, or with a Lease that was not renewed for the whole
// grace period, nor for one more interval since. Nothing of that is counted.
type NodeFoundLost struct {
	At
	Node string
	// Silence is the time since the last heartbeat, whose time is by the node's own clock; 0 if it is not known.
	Silence time.Duration
	// Unknown: the node controller had set Ready to Unknown, at Marked by its own clock; zero if that is not known.
	Unknown bool
	Marked  time.Time
	// InDoubt: the last heartbeat is too young for that mark. The node is back, or the mark was an error, or the clocks differ.
	InDoubt bool
	Loss    NodeLoss
}

// Fields returns the names for a structured log line.
func (x NodeFoundLost) Fields() Fields { return Fields{Node: x.Node} }

func (x NodeFoundLost) String() string {
	s := fmt.Sprintf("node %s: lost before kubeflap started", x.Node)
	if x.Unknown {
		s = fmt.Sprintf("node %s: Unknown before kubeflap started", x.Node)
	}
	if x.Silence > 0 {
		s += fmt.Sprintf(", last heartbeat %s ago by the clock of the node", round(x.Silence))
	}
	return s
}

// ClockSetBack means that the node's clock was set back. Its renewals do not count until they pass the newest one before.
type ClockSetBack struct {
	At
	Node string
	// By is how far, as far as the renewals show.
	By time.Duration
}

// Fields returns the names for a structured log line.
func (x ClockSetBack) Fields() Fields { return Fields{Node: x.Node} }

func (x ClockSetBack) String() string {
	return fmt.Sprintf("node %s: the clock was set back by %s: heartbeats do not count until they pass the last one before", x.Node, round(x.By))
}

// HeartbeatsWereInTime means that the watch has shown the heartbeats of a silence late: by the node's clock they were in time.
type HeartbeatsWereInTime struct {
	At
	Node    string
	Silence time.Duration
}

// Fields returns the names for a structured log line.
func (x HeartbeatsWereInTime) Fields() Fields { return Fields{Node: x.Node} }

func (x HeartbeatsWereInTime) String() string {
	return fmt.Sprintf("node %s: was not silent for %s: the heartbeats were in time, and the watch showed them late", x.Node, round(x.Silence))
}

// NodeReadyChanged means that the node's Ready condition changed.
type NodeReadyChanged struct {
	At
	Node     string
	From, To event.Status
	// Lasted is how long Ready was From, or longer if not Complete.
	Lasted   time.Duration
	Complete bool
	// Silence is the time since the last heartbeat, 0 if none is known.
	Silence time.Duration
	// Loss is set if To is not True; Renewed only if it is Unknown.
	Loss NodeLoss
}

// Fields returns the names for a structured log line.
func (x NodeReadyChanged) Fields() Fields { return Fields{Node: x.Node} }

func (x NodeReadyChanged) String() string {
	least := ""
	if !x.Complete {
		least = "at least "
	}
	s := fmt.Sprintf("node %s: Ready %s -> %s (%[2]s for %[4]s%[5]s)", x.Node, x.From, x.To, least, round(x.Lasted))
	if x.To != event.StatusTrue && x.Silence > 0 {
		s += fmt.Sprintf(", last heartbeat %s ago", round(x.Silence))
	}
	return s
}

// NodeNotMarked means that the node is silent for longer than the grace period and the node controller's own delay, and still Ready, while the API
// server answers. The node controller is stuck, or leaves silent nodes Ready.
type NodeNotMarked struct {
	At
	Node string
	// Silence is the time since the last heartbeat.
	Silence time.Duration
	// Certain: nothing else explains that it is Ready. Otherwise the leader may have changed unseen, so that each node has a fresh grace period, or the
	// cluster may have a longer grace period than the default.
	Certain bool
	Loss    NodeLoss
}

// Fields returns the names for a structured log line.
func (x NodeNotMarked) Fields() Fields { return Fields{Node: x.Node} }

func (x NodeNotMarked) String() string {
	return fmt.Sprintf("node %s: no heartbeat for %s, and still Ready: the node controller has not set it to Unknown", x.Node, round(x.Silence))
}

// NodeReadyMissed means that a list shows that the node's Ready left Status and came back while the watch was broken.
type NodeReadyMissed struct {
	At
	Node    string
	Status  event.Status
	Trigger uint64
}

// Fields returns the names for a structured log line.
func (x NodeReadyMissed) Fields() Fields { return Fields{Node: x.Node} }

func (x NodeReadyMissed) String() string {
	return fmt.Sprintf("node %s: Ready left %s and came back while the watch was broken", x.Node, x.Status)
}

// NodeRebooted means that the node reports another bootID.
type NodeRebooted struct {
	At
	Node string
}

// Fields returns the names for a structured log line.
func (x NodeRebooted) Fields() Fields { return Fields{Node: x.Node} }

func (x NodeRebooted) String() string {
	return fmt.Sprintf("node %s: the machine was rebooted", x.Node)
}

// KubeletUpgraded means that the node reports another version of its kubelet.
type KubeletUpgraded struct {
	At
	Node string
}

// Fields returns the names for a structured log line.
func (x KubeletUpgraded) Fields() Fields { return Fields{Node: x.Node} }

func (x KubeletUpgraded) String() string {
	return fmt.Sprintf("node %s: another version of the kubelet", x.Node)
}

// NodeRemoved means that the Node was deleted.
type NodeRemoved struct {
	At
	Node string
	// Earliest is when that happened at the earliest: the watch may have been broken. It is zero if it is not known.
	Earliest time.Time
}

// Fields returns the names for a structured log line.
func (x NodeRemoved) Fields() Fields { return Fields{Node: x.Node} }

func (x NodeRemoved) String() string { return fmt.Sprintf("node %s: removed", x.Node) }

// Machine is what a Node of the name of a deleted one says about its machine.
type Machine uint8

// The machines.
const (
	// MachineSame: the same machine, which was not rebooted. It has the same bootID.
	MachineSame Machine = iota + 1
	// MachineRebooted: the same machine by its providerID, with another bootID.
	MachineRebooted
	// MachineReplaced: another machine, by its providerID.
	MachineReplaced
	// MachineUnclear: another bootID, and no providerID that identifies the machine: it was rebooted or replaced.
	MachineUnclear
)

// NodeReturned means that a Node has the name of one that was deleted in the last hour.
type NodeReturned struct {
	At
	Node    string
	Machine Machine
}

// Fields returns the names for a structured log line.
func (x NodeReturned) Fields() Fields { return Fields{Node: x.Node} }

func (x NodeReturned) String() string {
	return fmt.Sprintf("node %s: created again: %s", x.Node, x.Machine)
}

// String says which machine it is.
func (m Machine) String() string {
	return [...]string{
		"", "the same machine, which was not rebooted", "the same machine, which was rebooted", "another machine", "the machine was rebooted, or another one has its name",
	}[m]
}

// GracePeriodKnown means that kubeflap learned something that decides about the node monitor grace period, or how many nodes there are.
type GracePeriodKnown struct {
	At
	// Period is the one in force, 0 while it is not known. Default is that of the Kubernetes version.
	Period, Default time.Duration
	// Assumed: nothing but the default tells the period.
	Assumed bool
	// Interval is how often the nodes send heartbeats while nothing delays them, the longest of all nodes; 0 without nodes.
	Interval time.Duration
	// Managed: the cloud runs the control plane, so nobody can set the grace period.
	Managed bool
	// Nodes is how many nodes there are; 0 before the first list is complete.
	Nodes int
}

// Fields returns the names for a structured log line.
func (GracePeriodKnown) Fields() Fields { return Fields{} }

func (x GracePeriodKnown) String() string {
	text := "the grace period is not known"
	switch {
	case x.Period > 0 && x.Assumed:
		text = "the grace period is assumed to be the default of " + round(x.Period).String()
	case x.Period > 0:
		text = "the grace period is " + round(x.Period).String()
	}
	if x.Interval > 0 {
		text += ", heartbeats are due every " + round(x.Interval).String()
	}
	return text
}
