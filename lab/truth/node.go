package truth

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// intervalWindow is the period over which the longest heartbeat interval is computed.
const intervalWindow = 10 * time.Minute

type node struct {
	uid types.UID
	// ready is Unknown while the node has no Ready condition.
	ready corev1.ConditionStatus
	// present is true if the node has a Ready condition.
	present bool
	// reported is the latest lastHeartbeatTime that the kubelet has written.
	reported metav1.Time
	// savedLease is the Lease that the node controller has saved. A Lease with a later renewTime counts as a heartbeat.
	savedLease *coordinationv1.Lease

	// last is the time from which the age of the latest heartbeat is measured. If the recorder has seen a heartbeat,
	// beats is set, and last is the time of the latest one.
	last     time.Time
	beats    bool
	finished []interval

	// inPeriod is true while the node is not Ready, but not before the first Ready of a new node.
	inPeriod     bool
	unreadySince time.Time
	unready      time.Duration
}

type interval struct {
	end    time.Time
	length time.Duration
}

func (s *state) applyNode(object *corev1.Node, gone bool, seen time.Time) {
	old := s.nodes[object.Name]
	if gone {
		if old != nil {
			s.note(Fact{Seen: seen, Kind: FactNode, Object: object.Name, From: string(old.ready), To: absentState})
		}
		delete(s.nodes, object.Name)
		return
	}
	if old == nil || old.uid != object.UID {
		n := s.firstSight(object, seen)
		s.nodes[object.Name] = n
		s.note(Fact{Seen: seen, Kind: FactNode, Object: object.Name, From: absentState, To: string(n.ready)})
		return
	}
	ready, reported := readyCondition(object)
	present := hasReady(object)
	// In tryUpdateNodeHealth, the node controller saves the current Lease if it has set the condition to Unknown, or if
	// the condition has appeared or disappeared.
	if present != old.present || ready != old.ready && ready == corev1.ConditionUnknown {
		old.savedLease = s.leases[object.Name]
	}
	old.present = present
	if ready != old.ready {
		s.note(Fact{Seen: seen, Kind: FactNode, Object: object.Name, From: string(old.ready), To: string(ready)})
		old.turn(ready, seen)
	}
	if !reported.IsZero() && !reported.Equal(&old.reported) {
		old.reported = reported
		// After a heartbeat in the Node status, the node controller saves the current Lease at its next check.
		old.savedLease = s.leases[object.Name]
		s.beat(old, object.Name, seen)
	}
}

func (s *state) firstSight(object *corev1.Node, seen time.Time) *node {
	n := &node{
		uid: object.UID, last: seen, savedLease: s.leases[object.Name], present: hasReady(object),
	}
	n.ready, n.reported = readyCondition(object)
	if s.inBaseline {
		// A node without a report has never been Ready.
		n.inPeriod, n.unreadySince = n.ready != corev1.ConditionTrue && !n.reported.IsZero(), seen
		n.last = lastBeforeBaseline(n, seen)
	}
	return n
}

// lastBeforeBaseline returns the time of the last heartbeat before the recorder started, according to the node's clock.
// If that clock is ahead, the result is the parameter seen, because the age must not be negative.
func lastBeforeBaseline(n *node, seen time.Time) time.Time {
	last := n.reported.Time
	if n.savedLease != nil && renewed(n.savedLease).After(last) {
		last = renewed(n.savedLease)
	}
	if last.IsZero() || last.After(seen) {
		return seen
	}
	return last
}

func (s *state) applyLease(lease *coordinationv1.Lease, gone bool, seen time.Time) {
	if gone {
		delete(s.leases, lease.Name)
		return
	}
	s.leases[lease.Name] = lease
	n := s.nodes[lease.Name]
	if n == nil {
		return
	}
	if n.savedLease == nil || renewed(n.savedLease).Before(renewed(lease)) {
		n.savedLease = lease
		s.beat(n, lease.Name, seen)
	}
}

func (s *state) beat(n *node, name string, seen time.Time) {
	length := seen.Sub(n.last)
	fact := Fact{Seen: seen, Kind: FactHeartbeat, Object: name}
	// Measure an interval only if the heartbeats at both ends were seen.
	if n.beats {
		fact.Seconds = length.Seconds()
		n.finished = append(n.finished, interval{seen, length})
	}
	s.note(fact)
	n.beats, n.last = true, seen
}

func (n *node) turn(ready corev1.ConditionStatus, seen time.Time) {
	switch {
	case n.ready == corev1.ConditionTrue:
		n.inPeriod, n.unreadySince = true, seen
	case ready == corev1.ConditionTrue && n.inPeriod:
		n.inPeriod = false
		n.unready += seen.Sub(n.unreadySince)
	}
	n.ready = ready
}

func (n *node) counts(c Counts, name string, now time.Time) {
	age := now.Sub(n.last)
	longest := age // the current interval counts, too
	for _, i := range n.finished {
		if now.Sub(i.end) <= intervalWindow {
			longest = max(longest, i.length)
		}
	}
	unready := n.unready
	if n.inPeriod {
		unready += now.Sub(n.unreadySince)
	}
	c.add(age.Seconds(), "kubeflap_node_heartbeat_age_seconds", "node", name)
	c.add(longest.Seconds(), "kubeflap_node_heartbeat_interval_max_seconds", "node", name)
	c.add(unready.Seconds(), UnreadyOfAnyClass, "node", name)
}

// readyCondition returns the status of the Ready condition, and the time at which the kubelet reported it.
func readyCondition(object *corev1.Node) (corev1.ConditionStatus, metav1.Time) {
	for _, condition := range object.Status.Conditions {
		if condition.Type != corev1.NodeReady {
			continue
		}
		if condition.Reason == "NodeStatusNeverUpdated" {
			// The node controller wrote this condition, so it does not show a report of the kubelet.
			return condition.Status, metav1.Time{}
		}
		return condition.Status, condition.LastHeartbeatTime
	}
	return corev1.ConditionUnknown, metav1.Time{}
}

func hasReady(object *corev1.Node) bool {
	return slices.ContainsFunc(object.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
}

func renewed(lease *coordinationv1.Lease) time.Time {
	if lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	return lease.Spec.RenewTime.Time
}
