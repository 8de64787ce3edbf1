package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// DepartureReason is what announces that a node will leave: the value of the label `reason`.
type DepartureReason string

// The reasons.
const (
	DepartureTaint     DepartureReason = "taint"
	DepartureDeletion  DepartureReason = "deletion"
	DepartureCondition DepartureReason = "condition"
	DepartureCordon    DepartureReason = "cordon"
)

const (
	// cordonAnnounces is how long a cordon announces a departure.
	cordonAnnounces = time.Hour
	// troubleBefore is how long a node must have been well before a cordon, for the cordon to announce anything: people also cordon
	// nodes that flap.
	troubleBefore = time.Hour
)

// departure is what announces that a node will leave.
type departure struct {
	// reason is the announcement by a taint, a deletion or a condition, with its name; empty if there is none. since is when it was first seen.
	reason DepartureReason
	name   string
	since  time.Time
	// cordoned is when the node became unschedulable, zero if it is schedulable. sound: it had been well for long.
	cordoned time.Time
	sound    bool
}

// noteDeparture takes in what announces that a node will leave.
func (n *node) noteDeparture(e event.Event, o *event.Node) {
	d := &n.departure
	if reason, name := announcementOf(o); reason != d.reason || name != d.name {
		d.reason, d.name, d.since = reason, name, e.Seen
	}
	switch {
	case !o.Unschedulable:
		d.cordoned = time.Time{}
	case d.cordoned.IsZero():
		d.cordoned, d.sound = e.Seen, e.Seen.Sub(n.troubled) > troubleBefore && n.ready == event.StatusTrue
	}
}

func announcementOf(o *event.Node) (DepartureReason, string) {
	for i := range o.Taints {
		if event.IsRemovalTaint(o.Taints[i].Key) {
			return DepartureTaint, o.Taints[i].Key
		}
	}
	if !o.Deletion.IsZero() {
		return DepartureDeletion, ""
	}
	for _, c := range o.Lifecycle {
		if c.Status == event.StatusTrue {
			return DepartureCondition, string(c.Type)
		}
	}
	return "", ""
}

// departing is why a node was about to leave at t; empty if nothing had announced that.
func (n *node) departing(t time.Time) (reason DepartureReason, name string) {
	d := &n.departure
	switch {
	case d.reason != "" && !d.since.After(t):
		return d.reason, d.name
	case d.sound && !d.cordoned.IsZero() && !d.cordoned.After(t) && t.Sub(d.cordoned) <= cordonAnnounces:
		return DepartureCordon, ""
	}
	return "", ""
}

// announced says what had announced the departure of a node by t; empty if nothing had.
func (n *node) announced(t time.Time) string {
	switch reason, name := n.departing(t); reason {
	case DepartureTaint:
		return "the taint " + name
	case DepartureDeletion:
		return "its deletion"
	case DepartureCondition:
		return "the condition " + name
	case DepartureCordon:
		return "a cordon"
	}
	return ""
}
