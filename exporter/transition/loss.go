package transition

import "time"

// NodeLoss holds the facts that decide the verdict on a lost node.
type NodeLoss struct {
	// Trigger identifies the API write with which the loss began. The number is the same in every kubeflap instance,
	// and 0 if unknown.
	Trigger uint64
	// Renewed is the node's last renewTime, by the node's clock. It is zero if the node has no Lease.
	Renewed time.Time
	// GracePeriod is the current grace period, or 0 if unknown.
	GracePeriod time.Duration
	// ControlPlane is the state of the control-plane Leases at the time of the loss.
	ControlPlane ControlPlane
	// Blind is set if kubeflap's watch was broken at some time since the last heartbeat. If so, kubeflap may have
	// missed heartbeats.
	Blind bool
	// Last is the time of the node's last renewal according to the first list after a break of the watch. It is zero if
	// unknown, or if kubeflap has seen a newer heartbeat.
	Last time.Time
	// Found is set if the node was lost before kubeflap began to watch it. The fields Perhaps and Returned are set only
	// in this case.
	Found bool
	NodeFacts
}

// NodeFacts holds those facts that belong to the silence of the node.
type NodeFacts struct {
	// Announced describes how the node's removal was announced, such as "a cordon". It ignores announcements that came
	// after the next heartbeat was due. AnnouncedAfter reports whether the announcement came after the last heartbeat.
	Announced      string
	AnnouncedAfter bool
	// MarkedAge is the age of the node's newest heartbeat when the node controller set Ready to Unknown. It ignores
	// heartbeats that the controller may not have seen. It is 0 if Ready is not Unknown, or if the age is unknown.
	MarkedAge time.Duration
	// ClockBehind is how far the node's clock is behind if it is unknown whether the clock was set back while kubeflap did
	// not watch, so that the node controller ignored the heartbeats. Otherwise it is 0.
	ClockBehind time.Duration
	// Guessed is set if the grace period is only assumed, because neither a setting nor a change to Unknown confirms it,
	// and the leading kube-controller-manager did not stand still, either.
	Guessed bool
	// Lapsed describes an announcement of the node's removal that no longer counted, because nothing followed. LapsedAge
	// is its age when the next heartbeat was due.
	Lapsed    string
	LapsedAge time.Duration
	// Unseen is set if kubeflap sees only the node's status reports and no heartbeats. These reports can be 5 min
	// apart. The silence begins when Ready turns Unknown.
	Unseen bool
	// Labels holds the node's labels that several nodes can share, such as the zone. It is nil if unknown.
	Labels []NodeLabel
	// Perhaps describes an announcement of the node's removal if it is unknown whether the announcement came before the
	// loss. Returned is the number of other nodes that became Ready soon after this node fell silent.
	Perhaps  string
	Returned int
}

// NodeLabel is a label with the number of nodes that have it.
type NodeLabel struct {
	Key, Value string
	Nodes      int
}

// InTime reports whether the node controller set Ready to Unknown although the newest heartbeat was younger than the
// grace period. It is false if the grace period is only assumed.
func (x NodeLoss) InTime() bool {
	return !x.Guessed && x.MarkedAge > 0 && x.MarkedAge < x.GracePeriod
}
