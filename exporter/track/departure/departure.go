// Package departure detects announcements that a node will leave.
package departure

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Reason is the kind of announcement, and the value of the label `reason`.
type Reason string

// Kinds of announcements.
const (
	Taint     Reason = "taint"
	Deletion  Reason = "deletion"
	Condition Reason = "condition"
	Cordon    Reason = "cordon"
)

const (
	// cordonAnnounces is the time for which a cordon announces a departure. An emptied node stays departing while it is
	// empty.
	cordonAnnounces = time.Hour
	// troubleBefore is the time for which a node must have been healthy before a cordon. Otherwise the cordon does not
	// count as an announcement, because people also cordon flapping nodes.
	troubleBefore = time.Hour
)

// Departure holds the announcement that a node will leave. The zero value is a node that stays.
type Departure struct {
	// now is the current announcement by a taint, a deletion or a condition. before is the first of the announcements
	// that followed each other without a gap, up to now or up to the end of the last one.
	now, before announcement
	// cordoned is the time at which the node became unschedulable, or zero. sound is set if the node had been healthy
	// for troubleBefore at that time.
	cordoned time.Time
	sound    bool
	// pods counts the running pods, except DaemonSet pods and static pods. left is set if there were any since the
	// cordon.
	pods int
	left bool
}

// announcement is an announcement by a taint, a deletion or a condition. Its reason and name are empty if there was
// none. It was first seen at since, and was in force until the time until, which is zero for the current announcement.
type announcement struct {
	reason       Reason
	name         string
	since, until time.Time
}

// in reports whether the announcement was in force at t.
func (a *announcement) in(t time.Time) bool {
	return a.reason != "" && !a.since.After(t) && (a.until.IsZero() || t.Before(a.until))
}

// Pods records the number of pods that run on the node, without DaemonSet pods and static pods.
func (d *Departure) Pods(n int) {
	d.pods = n
	d.left = d.left || n > 0
}

// Note handles a Node event. troubled is the time at which the node was last late or not Ready.
func (d *Departure) Note(e event.Event, o *event.Node, troubled time.Time, isReady bool) {
	if reason, name := announcementOf(o); reason != d.now.reason || name != d.now.name {
		d.change(announcement{reason: reason, name: name, since: e.Seen})
	}
	switch {
	case !o.Unschedulable:
		d.cordoned = time.Time{}
	case d.cordoned.IsZero():
		d.cordoned, d.sound = e.Seen, e.Seen.Sub(troubled) > troubleBefore && isReady
		d.left = d.pods > 0
	}
}

// change replaces the current announcement. A maintenance tool may replace one condition by another, even while the
// node is silent. The departure then counts as announced since the first one.
func (d *Departure) change(to announcement) {
	if d.now.reason != "" {
		if d.before.until.IsZero() || !d.before.until.Equal(d.now.since) {
			d.before = d.now
		}
		d.before.until = to.since
	}
	d.now = to
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

// At returns the announcement that applied at t, or empty strings. name identifies the taint or the condition.
func (d *Departure) At(t time.Time) (reason Reason, name string) {
	switch {
	case d.now.in(t):
		return d.now.reason, d.now.name
	case d.before.in(t):
		return d.before.reason, d.before.name
	case d.sound && !d.cordoned.IsZero() && !d.cordoned.After(t) && (t.Sub(d.cordoned) <= cordonAnnounces || d.emptied()):
		return Cordon, ""
	}
	return "", ""
}

// emptied reports whether all pods except DaemonSet pods and static pods have left since the cordon. kubeflap must have
// seen at least one such pod: otherwise the node may only appear empty, because kubeflap may not see all namespaces.
func (d *Departure) emptied() bool { return d.left && d.pods == 0 }

// Announced describes the announcement that applied at t, or is empty.
func (d *Departure) Announced(t time.Time) string { return textOf(d.At(t)) }

// Present describes the current announcement regardless of its age, or is empty. It also accepts an unhealthy node's
// cordon. Use it for the first list, which does not show the age of announcements.
func (d *Departure) Present() string {
	if d.now.reason == "" && !d.cordoned.IsZero() {
		return textOf(Cordon, "")
	}
	return textOf(d.now.reason, d.now.name)
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
