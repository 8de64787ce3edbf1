// Package departure detects announcements of a node's removal, drain or reboot. Such an announcement is a taint, the
// deletion of the Node, a condition, or a cordon.
package departure

import (
	"strconv"
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

// An announcement counts while the departure makes progress. This is the case while the announcement is younger than
// freshFor, for evictingFor after an eviction of a pod, and for emptyFor after the last pod has left the node. DaemonSet
// pods and static pods do not count, because they stay until the end.
const (
	freshFor    = 30 * time.Minute
	evictingFor = 10 * time.Minute
	emptyFor    = 24 * time.Hour
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
	// `cordon` is the current cordon. `sound` is set if the node was Ready when it was cordoned, and had been healthy for
	// longer than troubleBefore.
	cordon announcement
	sound  bool
	// `pods` is the number of running pods, without DaemonSet pods and static pods. `emptied` is the time at which the
	// last of them left, or zero.
	pods    int
	emptied time.Time
	// The last evictions through the Eviction API without a pause of more than evictingFor.
	firstEviction, lastEviction time.Time
}

// announcement is an announcement by a taint, a deletion, a condition or a cordon. reason is empty if there is no
// announcement. `since` is the time at which kubeflap first saw the announcement. `made` is the time at which it was
// made. If kubeflap did not see this, `made` is a time by the clock of the client that made it. `until` is the
// announcement's end, or zero for the current announcement.
type announcement struct {
	reason             Reason
	name               string
	since, made, until time.Time
}

func (a *announcement) in(t time.Time) bool {
	return a.reason != "" && !a.since.After(t) && (a.until.IsZero() || t.Before(a.until))
}

// SetPods records the number of pods that run on the node at t, without DaemonSet pods and static pods.
func (d *Departure) SetPods(n int, t time.Time) {
	if n > 0 {
		d.emptied = time.Time{}
	} else if d.pods > 0 {
		d.emptied = t
	}
	d.pods = n
}

// Evicted records that a pod was evicted from the node through the Eviction API.
func (d *Departure) Evicted(t time.Time) {
	if t.Sub(d.lastEviction) > evictingFor {
		d.firstEviction = t
	}
	d.lastEviction = t
}

// progresses reports whether a departure that was announced at `made` makes progress at t.
func (d *Departure) progresses(made, t time.Time) bool {
	return t.Sub(made) <= freshFor || d.isEvicting(t) || !d.emptied.IsZero() && !d.emptied.After(t) && t.Sub(d.emptied) <= emptyFor
}

func (d *Departure) isEvicting(t time.Time) bool {
	return !d.firstEviction.IsZero() && !d.firstEviction.After(t) && t.Sub(d.lastEviction) <= evictingFor
}

// Note handles a Node event. `first` is set if the node has not been seen before. `troubled` is the last time at which the
// node's heartbeat became late or the node became not Ready.
func (d *Departure) Note(e event.Event, o *event.Node, first bool, troubled time.Time, isReady bool) {
	is := announcementOf(o)
	is.since = e.Seen
	if !first && e.Type != event.Listed || is.made.IsZero() || is.made.After(e.Seen) {
		is.made = e.Seen
	}
	if is.reason != d.now.reason || is.name != d.now.name {
		d.change(is)
	}
	switch {
	case !o.Unschedulable:
		d.cordon = announcement{}
	case d.cordon.reason == "":
		d.cordon = announcement{reason: Cordon, since: e.Seen, made: e.Seen}
		d.sound = e.Seen.Sub(troubled) > troubleBefore && isReady
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

func announcementOf(o *event.Node) announcement {
	for i := range o.Taints {
		if x := &o.Taints[i]; event.IsRemovalTaint(x.Key) {
			return announcement{reason: Taint, name: x.Key, made: added(x)}
		}
	}
	if !o.DeletionTimestamp.IsZero() {
		return announcement{reason: Deletion, made: o.DeletionTimestamp}
	}
	for _, c := range o.Lifecycle {
		if c.Status == event.StatusTrue {
			return announcement{reason: Condition, name: string(c.Type), made: c.LastTransitionTime}
		}
	}
	return announcement{}
}

// added returns the time at which a taint was added, or zero if unknown. The Cluster Autoscaler writes this time to the
// taint's value, in seconds (cluster-autoscaler, utils/taints, addTaint).
func added(x *event.Taint) time.Time {
	if !x.Added.IsZero() {
		return x.Added
	}
	if seconds, err := strconv.ParseInt(x.Value, 10, 64); err == nil && seconds > 1e9 {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Time{}
}

// inEffect returns the announcement that was in effect at t, or nil. It ignores whether the departure makes progress.
func (d *Departure) inEffect(t time.Time) *announcement {
	for _, a := range [...]*announcement{&d.now, &d.before, &d.cordon} {
		if a.in(t) && (a.reason != Cordon || d.sound) {
			return a
		}
	}
	return nil
}

// At returns the reason for which the node was expected to depart at t, or an empty string.
func (d *Departure) At(t time.Time) Reason {
	if a := d.inEffect(t); a != nil && d.progresses(a.made, t) {
		return a.reason
	}
	return ""
}

// Announced describes the announcement because of which the node was expected to depart at t. It returns an empty
// string if there was none.
func (d *Departure) Announced(t time.Time) string {
	if a := d.inEffect(t); a != nil && d.progresses(a.made, t) {
		return a.text()
	}
	return ""
}

// AnnouncedEviction is like Announced, for a pod that was evicted at t. An eviction through the Eviction API from a
// cordoned node is planned, even if the cordon does not announce the node's departure.
func (d *Departure) AnnouncedEviction(t time.Time) string {
	if text := d.Announced(t); text != "" || !d.cordon.in(t) || !d.isEvicting(t) {
		return text
	}
	return d.cordon.text()
}

// Lapsed describes an announcement that was in effect at t but no longer counted, because the departure made no
// progress. `age` is its age at t. The text is empty if there was none.
func (d *Departure) Lapsed(t time.Time) (text string, age time.Duration) {
	if a := d.inEffect(t); a != nil && !d.progresses(a.made, t) {
		return a.text(), t.Sub(a.made)
	}
	return "", 0
}

// AnnouncedNow returns a description of the current announcement, or an empty string. It accepts announcements of any
// age, and cordons of unhealthy nodes. Use it for the first list of Nodes, which does not always show the age of
// announcements.
func (d *Departure) AnnouncedNow() string {
	if d.now.reason == "" {
		return d.cordon.text()
	}
	return d.now.text()
}

func (a *announcement) text() string {
	switch a.reason {
	case Taint:
		return "the taint " + a.name
	case Deletion:
		return "its deletion"
	case Condition:
		return "the condition " + a.name
	case Cordon:
		return "a cordon"
	}
	return ""
}

// Past is what a list of Nodes does not show about a cordoned node: when it was cordoned, whether it was healthy then, and
// when the last pod left it.
type Past struct {
	Since   time.Time `json:"since"`
	Sound   bool      `json:"sound,omitempty"`
	Emptied time.Time `json:"emptied,omitzero"`
}

// Past returns what to pass to Restore. ok is false if the node is not cordoned.
func (d *Departure) Past() (p Past, ok bool) {
	return Past{d.cordon.since, d.sound, d.emptied}, d.cordon.reason != ""
}

// Restore takes over an earlier Past, if the node is still cordoned. Call it after the first Note.
func (d *Departure) Restore(p Past) {
	if d.cordon.reason != "" {
		d.cordon.since, d.cordon.made, d.sound, d.emptied = p.Since, p.Since, p.Sound, p.Emptied
	}
}
