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
	// cordonAnnounces is how long a cordon announces a departure. A node that was emptied announces it for as long as it stays empty.
	cordonAnnounces = time.Hour
	// troubleBefore is how long a node must have been well before a cordon, for the cordon to announce anything: people also cordon
	// nodes that flap.
	troubleBefore = time.Hour
)

// Departure holds the announcement that a node will leave. The zero value is a node that stays.
type Departure struct {
	// reason is the announcement by a taint, a deletion or a condition, with its name; empty if there is none. since is when it was first seen.
	reason Reason
	name   string
	since  time.Time
	// cordoned is when the node became unschedulable, zero if it is schedulable. sound: it had been well for long.
	cordoned time.Time
	sound    bool
	// pods counts the running pods that no DaemonSet has made. left: there were some since the cordon.
	pods int
	left bool
}

// Pods records how many pods run on the node, without DaemonSet pods and static pods.
func (d *Departure) Pods(n int) {
	d.pods = n
	d.left = d.left || n > 0
}

// Note handles an event of a Node. troubled is when the node was last late or not Ready, isReady whether it is Ready now.
func (d *Departure) Note(e event.Event, o *event.Node, troubled time.Time, isReady bool) {
	if reason, name := announcementOf(o); reason != d.reason || name != d.name {
		d.reason, d.name, d.since = reason, name, e.Seen
	}
	switch {
	case !o.Unschedulable:
		d.cordoned = time.Time{}
	case d.cordoned.IsZero():
		d.cordoned, d.sound = e.Seen, e.Seen.Sub(troubled) > troubleBefore && isReady
		d.left = d.pods > 0
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
	case d.sound && !d.cordoned.IsZero() && !d.cordoned.After(t) && (t.Sub(d.cordoned) <= cordonAnnounces || d.emptied()):
		return Cordon, ""
	}
	return "", ""
}

// emptied: all pods have left since the cordon, those of DaemonSets aside. Without a pod that was seen to leave, the node may only look empty:
// kubeflap may not see all namespaces.
func (d *Departure) emptied() bool { return d.left && d.pods == 0 }

// Announced says what had announced the departure of a node by t; empty if nothing had.
func (d *Departure) Announced(t time.Time) string { return textOf(d.At(t)) }

// Present says what would announce a departure if it was there in time, also a cordon of a node that was not well; empty if nothing would. The first list does
// not show since when.
func (d *Departure) Present() string {
	if d.reason == "" && !d.cordoned.IsZero() {
		return textOf(Cordon, "")
	}
	return textOf(d.reason, d.name)
}

func textOf(reason Reason, name string) string {
	switch reason {
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
