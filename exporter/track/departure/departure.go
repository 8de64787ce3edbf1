// Package departure detects announcements of a node's removal, drain or reboot. Such an announcement is a taint, the
// deletion of the Node, a condition, or a cordon.
package departure

import (
	"slices"
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
	// `all` holds the current announcements and those that have ended recently, oldest first.
	all []announcement
	// `sound` is set if the node was Ready when it was cordoned, and had been healthy for longer than troubleBefore.
	sound bool
	// `pods` is the number of running pods, without DaemonSet pods and static pods. `emptied` is the time at which the
	// last of them left, or zero.
	pods    int
	emptied time.Time
	// `left` is the last time at which one of them left because it was deleted.
	left time.Time
	// The last evictions through the Eviction API without a pause of more than evictingFor.
	firstEviction, lastEviction time.Time
}

// announcement is an announcement by a taint, a deletion, a condition or a cordon. `since` is the time at which
// kubeflap first saw the announcement. `made` is the time at which it was made. If kubeflap did not see this, `made` is
// a time by the clock of the client that made it. `until` is the announcement's end, or zero for the current
// announcement.
type announcement struct {
	reason             Reason
	text               string
	since, made, until time.Time
}

// said returns the text of an announcement, or an empty string if there is none.
func (a *announcement) said() string {
	if a == nil {
		return ""
	}
	return a.text
}

func (a *announcement) in(t time.Time) bool {
	return !a.since.After(t) && (a.until.IsZero() || t.Before(a.until))
}

// SetPods records the number of pods that run on the node at t, without DaemonSet pods and static pods. The parameter left
// is set if one of them was deleted. A pod that has ended by itself, such as a Job's, does not mean that the node departs.
func (d *Departure) SetPods(n int, left bool, t time.Time) {
	if n > 0 {
		d.emptied = time.Time{}
	} else if d.pods > 0 {
		d.emptied = t
	}
	if left {
		d.left = t
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

// keepEnded is the time for which an announcement is kept after its end. The silence of a node is judged later than it
// begins.
const keepEnded = time.Hour

// Note handles a Node event. `first` is set if the node has not been seen before. `troubled` is the last time at which the
// node's heartbeat became late or the node became not Ready.
func (d *Departure) Note(e event.Event, o *event.Node, first bool, troubled time.Time, isReady bool) {
	now := announcementsOf(o)
	for i := range d.all {
		if a := &d.all[i]; a.until.IsZero() && !slices.ContainsFunc(now, func(x announcement) bool { return x.text == a.text }) {
			a.until = e.Seen
		}
	}
	d.all = slices.DeleteFunc(d.all, func(a announcement) bool { return !a.until.IsZero() && e.Seen.Sub(a.until) > keepEnded })
	for _, a := range now {
		if slices.ContainsFunc(d.all, func(x announcement) bool { return x.until.IsZero() && x.text == a.text }) {
			continue
		}
		if a.since = e.Seen; !first && e.Type != event.Listed || a.made.IsZero() || a.made.After(e.Seen) {
			a.made = e.Seen
		}
		if d.all = append(d.all, a); a.reason == Cordon {
			d.sound = e.Seen.Sub(troubled) > troubleBefore && isReady
		}
	}
}

func announcementsOf(o *event.Node) (all []announcement) {
	for i := range o.Taints {
		if x := &o.Taints[i]; event.IsRemovalTaint(x.Key) {
			all = append(all, announcement{reason: Taint, text: "the taint " + x.Key, made: added(x)})
		}
	}
	if !o.DeletionTimestamp.IsZero() {
		all = append(all, announcement{reason: Deletion, text: "its deletion", made: o.DeletionTimestamp})
	}
	for _, c := range o.Lifecycle {
		if c.Status == event.StatusTrue {
			all = append(all, announcement{reason: Condition, text: "the condition " + string(c.Type), made: c.LastTransitionTime})
		}
	}
	if o.Unschedulable {
		all = append(all, announcement{reason: Cordon, text: "a cordon"})
	}
	return all
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

// inEffect returns the announcement that counted at t, or nil. Of several, it is the oldest that is no cordon. `lapsed` is
// the newest announcement that was in effect, but no longer counted, or nil.
func (d *Departure) inEffect(t time.Time) (counts, lapsed *announcement) {
	for i := range d.all {
		switch a := &d.all[i]; {
		case !a.in(t) || a.reason == Cordon && !d.sound:
		case !d.progresses(a.made, t):
			lapsed = a
		case counts == nil || counts.reason == Cordon:
			counts = a
		}
	}
	return counts, lapsed
}

// At returns the reason for which the node was expected to depart at t, or an empty string.
func (d *Departure) At(t time.Time) Reason {
	if a, _ := d.inEffect(t); a != nil {
		return a.reason
	}
	return ""
}

// Announced describes the announcement that counted at t. It returns an empty string if there was none.
func (d *Departure) Announced(t time.Time) string {
	a, _ := d.inEffect(t)
	return a.said()
}

// AnnouncedSilence is like Announced, for a node that falls silent at t. A cordon does not announce that while the node's
// pods stay: nobody switches off a machine on purpose that is still used.
func (d *Departure) AnnouncedSilence(t time.Time) string {
	if a, _ := d.inEffect(t); a != nil && !d.isUsed(a, t) {
		return a.said()
	}
	return ""
}

// isUsed reports whether an announcement is a cordon, and nothing has moved the node's pods away since.
func (d *Departure) isUsed(a *announcement, t time.Time) bool {
	hasPods := d.pods > 0 || d.emptied.After(t)
	moved := !d.left.After(t) && t.Sub(d.left) <= evictingFor && !d.left.Before(a.since)
	return a.reason == Cordon && hasPods && !d.isEvicting(t) && !moved
}

// AnnouncedEviction is like Announced, for a pod that was evicted through the Eviction API at t. Such an eviction from a
// cordoned node is planned, even if the cordon does not announce the node's departure.
func (d *Departure) AnnouncedEviction(t time.Time) string {
	if text := d.Announced(t); text != "" {
		return text
	}
	return d.first(func(a *announcement) bool { return a.reason == Cordon && a.in(t) }).said()
}

// Lapsed describes an announcement that was in effect at t but did not announce a silence, because the departure made no
// progress. `age` is its age at t. The text is empty if there was none, or if another announcement counted.
func (d *Departure) Lapsed(t time.Time) (text string, age time.Duration) {
	counts, a := d.inEffect(t)
	if counts != nil && d.isUsed(counts, t) {
		counts, a = nil, counts
	}
	if counts == nil && a != nil {
		return a.said(), t.Sub(a.made)
	}
	return "", 0
}

// AnnouncedNow returns a description of the current announcement, or an empty string. It accepts announcements of any
// age, and cordons of unhealthy nodes. Use it for the first list of Nodes, which does not always show the age of
// announcements.
func (d *Departure) AnnouncedNow() string {
	return d.first(func(a *announcement) bool { return a.until.IsZero() }).said()
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
	c := d.cordon()
	if c == nil {
		return p, false
	}
	return Past{c.since, d.sound, d.emptied}, true
}

// Restore takes over an earlier Past, if the node is still cordoned. Call it after the first Note.
func (d *Departure) Restore(p Past) {
	if c := d.cordon(); c != nil {
		c.since, c.made, d.sound, d.emptied = p.Since, p.Since, p.Sound, p.Emptied
	}
}

// cordon returns the current cordon, or nil.
func (d *Departure) cordon() *announcement {
	return d.first(func(a *announcement) bool { return a.reason == Cordon && a.until.IsZero() })
}

// first returns the oldest announcement that matches, or nil.
func (d *Departure) first(match func(*announcement) bool) *announcement {
	for i := range d.all {
		if match(&d.all[i]) {
			return &d.all[i]
		}
	}
	return nil
}
