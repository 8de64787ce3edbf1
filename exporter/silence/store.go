package silence

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// remembered is how long a silence counts toward the cluster's rate of silences. maxRemembered limits the number of
	// these silences.
	remembered    = 24 * time.Hour
	maxRemembered = 1000
	// rebootShown is the maximum time from the first heartbeat of a rebooted node until the node reports its new
	// bootID. upgradeShown is the maximum time from the first heartbeat of an upgraded kubelet until the kubelet
	// reports its version. A kubelet reports both values in the node status when it starts.
	rebootShown  = 5 * time.Minute
	upgradeShown = time.Minute
)

// Store holds the silences of all nodes, and the settings that decide which heartbeats are late. The zero value is
// empty.
type Store struct {
	// Settings affect the grace period. The measured interval is not set.
	Settings Settings
	// Upgrades holds the recent upgrades of kubelets.
	Upgrades Upgrades
	// Nodes is the number of nodes in the cluster when the newest late heartbeat arrived.
	Nodes int

	// since is the start of the observation. If the observation was interrupted, since is later by the length of the
	// interruptions.
	since time.Time
	// The list lost holds the silences in which nodes were lost over the last day, sorted by start. The list arrived
	// holds the silences before the late heartbeats of the last day, in order of arrival.
	lost, arrived List
	// The map nodes holds the nodes with silences.
	nodes map[string]*node
	// The map late holds the ongoing silences of the nodes that are late, but not lost.
	late map[string]*Silence
}

// Begin records the first observation of the cluster. Later calls have no effect.
func (h *Store) Begin(t time.Time) {
	if h.since.IsZero() {
		h.since = t
	}
}

// Learn records settings that affect the grace period.
func (h *Store) Learn(x transition.GracePeriodKnown) {
	h.Settings.GracePeriod = advice.GracePeriod{Period: x.Period, Default: x.Default, Assumed: x.Assumed, Interval: x.Interval, Managed: x.Managed}
}

// Settings holds the grace period and the heartbeat interval.
type Settings struct{ advice.GracePeriod }

// WithOneLost returns the interval between two received heartbeats if one heartbeat between them gets lost.
func (s Settings) WithOneLost() time.Duration { return 2 * (s.Shortest() / 2) }

// CommonCauseWindow returns the maximum time between two node losses that may have a common cause. This is the grace
// period, because heartbeats of different nodes are spread over a shorter time.
func (s Settings) CommonCauseWindow() time.Duration {
	return cmp.Or(s.Period, advice.DefaultGracePeriod)
}

// Add adds a silence in which a node was lost.
func (h *Store) Add(s *Silence) {
	h.insert(s)
	n := h.of(s.Node)
	n.newest, n.lost = s, s
}

// insert adds a silence to the list lost. It removes silences that began more than 24 hours before the newest silence.
// If more than maxRemembered silences remain, it removes the oldest.
func (h *Store) insert(s *Silence) {
	at := len(h.lost)
	for at > 0 && h.lost[at-1].Began.After(s.Began) {
		at--
	}
	h.lost = slices.Insert(h.lost, at, s)
	old := h.lost[len(h.lost)-1].Began.Add(-remembered)
	keep := slices.IndexFunc(h.lost, func(x *Silence) bool { return x.Began.After(old) })
	// Keep ongoing silences that began before kubeflap started watching, because they may have the same cause as newer
	// silences.
	older := slices.DeleteFunc(h.lost[:keep], func(x *Silence) bool { return !x.Found.Is || !x.IsOngoing() })
	h.lost = slices.Delete(h.lost, len(older), keep)
	h.lost = slices.Delete(h.lost, 0, max(len(h.lost)-maxRemembered, 0))
}

// Withdraw deletes the silences of a node after t, and its late heartbeats, because its heartbeats were on time. It returns
// those in which the node was lost.
func (h *Store) Withdraw(name string, t time.Time) (lost List) {
	did := func(x *Silence) bool { return x.Node == name && !x.Marked && (x.Ended.IsZero() || x.Ended.After(t)) }
	lost = h.lost.Filter(did)
	n := h.of(name)
	n.newest, n.lost = nil, nil
	h.lost, h.arrived = slices.DeleteFunc(h.lost, did), slices.DeleteFunc(h.arrived, did)
	return lost
}

// Relist sets the start of a silence to the last renewal, which kubeflap learnt from a list.
func (h *Store) Relist(s *Silence, began time.Time) {
	h.lost = slices.DeleteFunc(h.lost, func(x *Silence) bool { return x == s })
	s.Began, s.Blind, s.BeganBlind, s.EndedBlind, s.Relisted = began, false, false, false, true
	h.insert(s)
}

// AfterOrLasting returns the unexplained silences that began after t or are ongoing, sorted by start.
func (h *Store) AfterOrLasting(t time.Time) List {
	return h.lost.Filter(func(s *Silence) bool { return !s.Explained() && (s.Began.After(t) || s.IsOngoing()) })
}

// All returns all silences in which nodes were lost, sorted by start.
func (h *Store) All() List { return h.lost }

// Observed returns how long the cluster has been observed, at most a day.
func (h *Store) Observed(t time.Time) time.Duration { return min(t.Sub(h.since), remembered) }

// Past is what a Store keeps when kubeflap does not watch for some time. Observed is the length of the observation.
// Silences holds the ended silences in which nodes were lost, oldest first. Late holds those before late heartbeats.
type Past struct {
	Observed time.Duration `json:"observed"`
	Silences []Silence     `json:"silences"`
	Late     []Silence     `json:"late"`
}

// Past returns copies of the silences that had ended by t.
func (h *Store) Past(t time.Time) (p Past) {
	if !h.since.IsZero() {
		p.Observed = h.Observed(t)
	}
	copies := func(of List) (all []Silence) {
		for _, s := range of {
			if !s.IsOngoing() && !s.Ended.After(t) {
				all = append(all, *s)
			}
		}
		return all
	}
	p.Silences, p.Late = copies(h.lost), copies(h.arrived)
	return p
}

// Restore adds an earlier observation to the one that begins at t. It must be called before the first transition.
func (h *Store) Restore(p Past, t time.Time) {
	h.since = t.Add(-p.Observed)
	for i := range p.Silences {
		h.insert(&p.Silences[i])
	}
	for i := range p.Late {
		h.arrived = append(h.arrived, &p.Late[i])
	}
}
