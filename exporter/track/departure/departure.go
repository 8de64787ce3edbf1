// Package departure finds what announces that a node will leave.
package departure

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Reason is what announces that a node will leave: the value of the label `reason`.
type Reason string

// The reasons.
const (
	Taint     Reason = "taint"
	Deletion  Reason = "deletion"
	Condition Reason = "condition"
	Cordon    Reason = "cordon"
)

const (
	// cordonAnnounces is how long a cordon announces a departure.
	cordonAnnounces = time.Hour
	// troubleBefore is how long a node must have been well before a cordon, for the cordon to announce anything: people also cordon
	// nodes that flap.
	troubleBefore = time.Hour
)

// Departure is what announces that a node will leave. The zero value is of a node that stays.
type Departure struct {
	// reason is the announcement by a taint, a deletion or a condition, with its name; empty if there is none. since is when it was first seen.
	reason Reason
	name   string
	since  time.Time
	// cordoned is when the node became unschedulable, zero if it is schedulable. sound: it had been well for long.
	cordoned time.Time
	sound    bool
}

// Note takes in a Node. troubled is when it was last late or not Ready, isReady whether it is Ready now.
func (d *Departure) Note(e event.Event, o *event.Node, troubled time.Time, isReady bool) {
	if reason, name := announcementOf(o); reason != d.reason || name != d.name {
		d.reason, d.name, d.since = reason, name, e.Seen
	}
	switch {
	case !o.Unschedulable:
		d.cordoned = time.Time{}
	case d.cordoned.IsZero():
		d.cordoned, d.sound = e.Seen, e.Seen.Sub(troubled) > troubleBefore && isReady
	}
}

func announcementOf(o *event.Node) (Reason, string) {
	for i := range o.Taints {
		if event.IsRemovalTaint(o.Taints[i].Key) {
			return Taint, o.Taints[i].Key
		}
	}
	if !o.Deletion.IsZero() {
		return Deletion, ""
	}
	for _, c := range o.Lifecycle {
		if c.Status == event.StatusTrue {
			return Condition, string(c.Type)
		}
	}
	return "", ""
}

// At is why a node was about to leave at t; empty if nothing had announced that. The name is that of the taint or the condition.
func (d *Departure) At(t time.Time) (reason Reason, name string) {
	switch {
	case d.reason != "" && !d.since.After(t):
		return d.reason, d.name
	case d.sound && !d.cordoned.IsZero() && !d.cordoned.After(t) && t.Sub(d.cordoned) <= cordonAnnounces:
		return Cordon, ""
	}
	return "", ""
}

// Announced says what had announced the departure of a node by t; empty if nothing had.
func (d *Departure) Announced(t time.Time) string {
	switch reason, name := d.At(t); reason {
	case Taint:
		return "the taint " + name
	case Deletion:
		return "its deletion"
	case Condition:
		return "the condition " + name
	case Cordon:
		return "a cordon"
	}
	return ""
}
