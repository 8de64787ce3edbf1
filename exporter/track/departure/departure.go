// Package departure detects announcements of a node's removal, drain or reboot. Such an announcement is a taint, the
// deletion of the Node, a condition, or a cordon.
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
	// cordonAnnounces is the time for which a cordon counts as an announcement. If all pods have left the node, the
	// cordon counts for as long as the node stays empty.
	cordonAnnounces = time.Hour
	// troubleBefore is the time for which a node must have been healthy before a cordon. Otherwise the cordon does not
	// count as an announcement, because people also cordon flapping nodes.
	troubleBefore = time.Hour
)

// Departure holds the announcements of one node's departure. The zero value has no announcements.
type Departure struct {
	// `now` is the current announcement, and `before` is the previous one. Neither is a cordon. Consecutive
	// announcements without a gap are merged into `before`, which keeps the reason and the start of the first
	// announcement.
	now, before announcement
	// `cordoned` is the time at which the node became unschedulable, or zero. `sound` is set if the node was Ready at
	// that time and had been healthy for longer than troubleBefore.
	cordoned time.Time
	sound    bool
	// `pods` is the number of running pods, without DaemonSet pods and static pods. hadPods is set if the node has run
	// at least one of these pods since the cordon.
	pods    int
	hadPods bool
}

// announcement is an announcement by a taint, a deletion or a condition. reason and name are empty if there is no
// announcement. `since` is the time at which kubeflap first saw the announcement. `until` is its end, or zero for the
// current announcement.
type announcement struct {
	reason       Reason
	name         string
	since, until time.Time
}

func (a *announcement) in(t time.Time) bool {
	return a.reason != "" && !a.since.After(t) && (a.until.IsZero() || t.Before(a.until))
}

// SetPods records the number of pods that run on the node, without DaemonSet pods and static pods.
func (d *Departure) SetPods(n int) {
	d.pods = n
	d.hadPods = d.hadPods || n > 0
}

// Note handles a Node event. `troubled` is the last time at which the node's heartbeat became late or the node became
// not Ready.
func (d *Departure) Note(e event.Event, o *event.Node, troubled time.Time, isReady bool) {
	if reason, name := announcementOf(o); reason != d.now.reason || name != d.now.name {
		d.change(announcement{reason: reason, name: name, since: e.Seen})
	}
	switch {
	case !o.Unschedulable:
		d.cordoned = time.Time{}
	case d.cordoned.IsZero():
		d.cordoned, d.sound = e.Seen, e.Seen.Sub(troubled) > troubleBefore && isReady
		d.hadPods = d.pods > 0
	}
}

// change replaces the current announcement. A maintenance tool can replace one condition with another, even while the
// node is silent. The departure then counts as announced since the first condition.
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
	if !o.DeletionTimestamp.IsZero() {
		return Deletion, ""
	}
	for _, c := range o.Lifecycle {
		if c.Status == event.StatusTrue {
			return Condition, string(c.Type)
		}
	}
	return "", ""
}

// At returns the announcement that was in effect at t, or empty strings if there was none. name identifies the taint or
// the condition.
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

// Past is what a list of Nodes does not show about a cordoned node: when it was cordoned, whether it was healthy then, and
// whether pods have run on it since.
type Past struct {
	Since   time.Time `json:"since"`
	Sound   bool      `json:"sound,omitempty"`
	HadPods bool      `json:"had_pods,omitempty"`
}

// Past returns what to pass to Restore. ok is false if the node is not cordoned.
func (d *Departure) Past() (p Past, ok bool) {
	return Past{d.cordoned, d.sound, d.hadPods}, !d.cordoned.IsZero()
}

// Restore takes over an earlier Past, if the node is still cordoned. Call it after the first Note.
func (d *Departure) Restore(p Past) {
	if !d.cordoned.IsZero() {
		d.cordoned, d.sound, d.hadPods = p.Since, p.Sound, p.HadPods
	}
}

// emptied reports whether all pods have left the node since the cordon. It ignores DaemonSet pods and static pods. It
// returns false if kubeflap saw no such pods on the node, because kubeflap may watch only some namespaces.
func (d *Departure) emptied() bool { return d.hadPods && d.pods == 0 }

// Announced returns a description of the announcement that was in effect at t, or an empty string.
func (d *Departure) Announced(t time.Time) string { return textOf(d.At(t)) }

// AnnouncedNow returns a description of the current announcement, or an empty string. It accepts announcements of any
// age, and cordons of unhealthy nodes. Use it for the first list of Nodes, which does not show the age of
// announcements.
func (d *Departure) AnnouncedNow() string {
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
