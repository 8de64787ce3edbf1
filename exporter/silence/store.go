package silence

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// remembered is how long a silence counts. maxRemembered limits the number of these silences.
	remembered    = 24 * time.Hour
	maxRemembered = 1000
	// reportsEvery is the longest time between two status reports of a kubelet (nodeStatusReportFrequency).
	reportsEvery = 5 * time.Minute
)

// Store holds the silences of all nodes, and the settings that decide which heartbeats are late. The zero value is
// empty.
type Store struct {
	// Settings affect the grace period. The measured interval is not set.
	Settings advice.GracePeriod
	// Upgrades holds the recent upgrades of kubelets.
	Upgrades Upgrades
	// Nodes is the number of nodes in the cluster when the newest late heartbeat arrived.
	Nodes int

	// since is the start of the observation. If the observation was interrupted, since is later by the length of the
	// interruptions.
	since time.Time
	// The list all holds the silences of the last day, sorted by start. The map late holds the ongoing silences of the nodes
	// that are late, but not lost.
	all  List
	late map[string]*Silence
	// The map shown holds the classes that Starts reports, and until when.
	shown map[Start]time.Time
}

// Begin records the first observation of the cluster. Later calls have no effect.
func (h *Store) Begin(t time.Time) {
	if h.since.IsZero() {
		h.since = t
	}
}

// Learn records settings that affect the grace period.
func (h *Store) Learn(x transition.GracePeriodKnown) {
	h.Settings = advice.GracePeriod{Period: x.Period, Default: x.Default, Assumed: x.Assumed, Interval: x.Interval, Managed: x.Managed}
}

// CommonCauseWindow returns the maximum time between two node losses that may have a common cause. This is the grace
// period, because heartbeats of different nodes are spread over a shorter time.
func (h *Store) CommonCauseWindow() time.Duration {
	return h.Settings.OrDefault()
}

// Add adds a silence. It removes silences that began more than 24 hours before the newest one and are not ongoing. If more
// than maxRemembered silences remain, it removes the oldest short one, or the oldest one.
func (h *Store) Add(s *Silence) {
	at := len(h.all)
	for at > 0 && h.all[at-1].Began.After(s.Began) {
		at--
	}
	h.all = slices.Insert(h.all, at, s)
	old := h.all[len(h.all)-1].Began.Add(-remembered)
	keep := slices.IndexFunc(h.all, func(x *Silence) bool { return x.Began.After(old) })
	ongoing := slices.DeleteFunc(h.all[:keep], func(x *Silence) bool { return !x.IsOngoing() })
	h.all = slices.Delete(h.all, len(ongoing), keep)
	if len(h.all) > maxRemembered {
		at := max(slices.IndexFunc(h.all, func(x *Silence) bool { return x.Short }), 0)
		h.all = slices.Delete(h.all, at, at+1)
	}
}

// newest returns the newest silence of a node, or nil.
func (h *Store) newest(node string) *Silence {
	for _, s := range slices.Backward(h.all) {
		if s.Node == node {
			return s
		}
	}
	return nil
}

// BecameLate begins a silence of half the grace period.
func (h *Store) BecameLate(s *Silence) {
	if h.late == nil {
		h.late = map[string]*Silence{}
	}
	s.Short = true
	h.late[s.Node] = s
}

// NotLate records that a node is no longer late: it sent a heartbeat, or exceeded the grace period.
func (h *Store) NotLate(node string) { delete(h.late, node) }

// NodeRemoved records the earliest possible time of a Node's deletion.
func (h *Store) NodeRemoved(name string, t time.Time) {
	h.NotLate(name)
	if s := h.newest(name); s != nil && s.IsOngoing() {
		s.Deleted = t
	}
}

// Withdraw deletes the silences of a node after t, because its heartbeats were on time. It returns those in which the node
// was lost.
func (h *Store) Withdraw(name string, t time.Time) (lost List) {
	did := func(x *Silence) bool { return x.Node == name && !x.Marked && (x.Ended.IsZero() || x.Ended.After(t)) }
	lost = h.all.Filter(func(x *Silence) bool { return !x.Short && did(x) })
	h.all = slices.DeleteFunc(h.all, did)
	return lost
}

// Relist sets the start of a silence to the last renewal, which kubeflap learnt from a list.
func (h *Store) Relist(s *Silence, began time.Time) {
	h.all = slices.DeleteFunc(h.all, func(x *Silence) bool { return x == s })
	s.Began, s.Blind, s.BeganBlind, s.EndedBlind, s.Relisted = began, false, false, false, true
	h.Add(s)
}

// All returns all silences of the last day, sorted by start.
func (h *Store) All() List { return h.all }

// Recent returns the unexplained silences, sorted by start. The list lost holds those in which nodes were lost, and which
// began after t or are ongoing. The list late holds the short ones that have not ended before t.
func (h *Store) Recent(t time.Time) (lost, late List) {
	for _, s := range h.all {
		switch {
		case s.Explained():
		case s.Short && !s.Ended.Before(t):
			late = append(late, s)
		case !s.Short && (s.Began.After(t) || s.IsOngoing()):
			lost = append(lost, s)
		}
	}
	for _, s := range h.late {
		if !s.Explained() {
			late = append(late, s)
		}
	}
	return lost, ByBegan(late)
}

// Observed returns how long the cluster has been observed, at most a day.
func (h *Store) Observed(t time.Time) time.Duration { return min(t.Sub(h.since), remembered) }

// Past is what a Store keeps when kubeflap does not watch for some time. Observed is the length of the observation.
// Silences holds the ended silences, oldest first.
type Past struct {
	Observed time.Duration `json:"observed"`
	Silences []Silence     `json:"silences"`
}

// Past returns copies of the silences that had ended by t.
func (h *Store) Past(t time.Time) (p Past) {
	if !h.since.IsZero() {
		p.Observed = h.Observed(t)
	}
	for _, s := range h.all {
		if !s.IsOngoing() && !s.Ended.After(t) {
			p.Silences = append(p.Silences, *s)
		}
	}
	return p
}

// Restore adds an earlier observation to the one that begins at t. It must be called before the first transition.
func (h *Store) Restore(p Past, t time.Time) {
	h.since = t.Add(-p.Observed)
	for i := range p.Silences {
		h.Add(&p.Silences[i])
	}
}
