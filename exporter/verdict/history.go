package verdict

import (
	"slices"
	"time"
)

const (
	// remembered is how long a silence counts toward the cluster's rate of silences. maxRemembered limits the number of
	// these silences.
	remembered    = 24 * time.Hour
	maxRemembered = 1000
	// upgradeExplains is the longest time from a kubelet's upgrade to a silence that the new kubelet may have caused.
	upgradeExplains = 10 * time.Minute
	// upgradesRemembered is how long upgrades are kept. It must exceed upgradeExplains plus one hour, because verdicts
	// consider the silences of the last hour.
	upgradesRemembered = 2 * time.Hour
)

// History holds the silences in a cluster over the last day. The zero value is empty.
type History struct {
	// since is the start of the observation. If the observation was interrupted, since is later by the length of the
	// interruptions.
	since    time.Time
	silences []*Silence
	// late contains the nodes whose last heartbeat is older than half the grace period. It maps each node to the time
	// of that heartbeat.
	late map[string]time.Time
	// Upgrades holds the recent upgrades of kubelets.
	Upgrades Upgrades
}

// Past is what a History keeps when kubeflap does not watch for some time. Observed is the length of the observation.
// Silences holds the ended silences, oldest first.
type Past struct {
	Observed time.Duration `json:"observed"`
	Silences []Silence     `json:"silences"`
}

// Past returns copies of the silences that had ended by t.
func (h *History) Past(t time.Time) (p Past) {
	if !h.since.IsZero() {
		p.Observed = min(t.Sub(h.since), remembered)
	}
	for _, s := range h.silences {
		if !s.isOngoing() && !s.Ended.After(t) {
			p.Silences = append(p.Silences, *s)
		}
	}
	return p
}

// Restore adds an earlier observation to the one that begins at t. It must be called before the first transition.
func (h *History) Restore(p Past, t time.Time) {
	h.since = t.Add(-p.Observed)
	for i := range p.Silences {
		h.Add(&p.Silences[i])
	}
}

// HeartbeatLate records that a node has sent no heartbeat since the given time. This time is more than half the grace
// period ago.
func (h *History) HeartbeatLate(node string, since time.Time) {
	if h.late == nil {
		h.late = map[string]time.Time{}
	}
	h.late[node] = since
}

// RemoveLate removes a node from the late nodes because it sent a heartbeat, was deleted, or exceeded the grace period.
func (h *History) RemoveLate(node string) { delete(h.late, node) }

// LateNodes returns the late nodes, sorted by the time of their last heartbeat.
func (h *History) LateNodes() []*Silence {
	all := make([]*Silence, 0, len(h.late))
	for node, since := range h.late {
		all = append(all, &Silence{Node: node, Began: since})
	}
	return byBegan(all)
}

// Begin records the first observation of the cluster. Later calls have no effect.
func (h *History) Begin(t time.Time) {
	if h.since.IsZero() {
		h.since = t
	}
}

// Add inserts a silence in order of start times. It removes silences that began more than 24 hours before the newest
// silence. If more than maxRemembered silences remain, it removes the oldest.
func (h *History) Add(s *Silence) {
	at := len(h.silences)
	for at > 0 && h.silences[at-1].Began.After(s.Began) {
		at--
	}
	h.silences = slices.Insert(h.silences, at, s)
	old := h.silences[len(h.silences)-1].Began.Add(-remembered)
	keep := slices.IndexFunc(h.silences, func(x *Silence) bool { return x.Began.After(old) })
	// Keep ongoing silences that began before kubeflap started watching, because they may have the same cause as newer
	// silences.
	older := slices.DeleteFunc(h.silences[:keep], func(x *Silence) bool { return !x.Found.Is || !x.isOngoing() })
	h.silences = slices.Delete(h.silences, len(older), keep)
	h.silences = slices.Delete(h.silences, 0, max(len(h.silences)-maxRemembered, 0))
}

// Remove deletes a silence that did not really happen.
func (h *History) Remove(s *Silence) {
	h.silences = slices.DeleteFunc(h.silences, func(x *Silence) bool { return x == s })
}

// after returns the silences that began after t, newest first, and those that began earlier, oldest first.
func (h *History) after(t time.Time) (newer, older silences) {
	n := len(h.silences)
	for n > 0 && h.silences[n-1].Began.After(t) {
		n--
	}
	newer = slices.Clone(silences(h.silences[n:]))
	slices.Reverse(newer)
	return newer, h.silences[:n]
}

// After returns the unexplained silences that began after t.
func (h *History) After(t time.Time) []*Silence {
	all, _ := h.after(t)
	return slices.DeleteFunc(all, (*Silence).Explained)
}

// AfterOrLasting returns the unexplained silences that began after t or are ongoing.
func (h *History) AfterOrLasting(t time.Time) []*Silence {
	all, older := h.after(t)
	for _, s := range older {
		if s.isOngoing() {
			all = append(all, s)
		}
	}
	return slices.DeleteFunc(all, (*Silence).Explained)
}

// SetBackTogether returns silences of nodes whose clocks were set back. The silences began after t, and within one
// interval of each other. These nodes probably use the same wrong time source. The result is nil for fewer than two
// nodes.
func (h *History) SetBackTogether(t time.Time, interval time.Duration) []*Silence {
	all, _ := h.after(t)
	all = largestGroupOf(all.filter(func(s *Silence) bool { return s.ClockBack > 0 }), interval)
	if len(all) < 2 {
		return nil
	}
	return all
}

// Rate returns the rate of unexplained silences in a cluster with the given number of nodes. It omits silences that
// began before kubeflap started watching. It also omits silences that began in the last hour, because their verdicts
// may still change.
func (h *History) Rate(t time.Time, nodes int) Rate {
	r := Rate{NodeTime: time.Duration(nodes) * min(t.Sub(h.since), remembered)}
	for _, s := range h.silences {
		if !s.Found.Is && !s.Explained() && t.Sub(s.Began) > time.Hour {
			r.Silences++
		}
	}
	return r
}

// Upgrades holds the kubelets that reported a different version in the last two hours, sorted by time.
type Upgrades []upgrade

type upgrade struct {
	node string
	at   time.Time
}

// Note records that a kubelet reported a different version.
func (u *Upgrades) Note(node string, t time.Time) {
	old, _ := slices.BinarySearchFunc(*u, t.Add(-upgradesRemembered), compareTime)
	*u = append((*u)[old:], upgrade{node, t})
}

func compareTime(x upgrade, t time.Time) int { return x.at.Compare(t) }

// explaining returns the upgrades that may have caused silences that began between first and last.
func (u Upgrades) explaining(first, last time.Time) Upgrades {
	from, _ := slices.BinarySearchFunc(u, first.Add(-upgradeExplains), compareTime)
	to, _ := slices.BinarySearchFunc(u, last.Add(1), compareTime)
	return u[from:to]
}

// before reports whether the node's kubelet was upgraded shortly before the given time.
func (u Upgrades) before(node string, t time.Time) bool {
	return slices.ContainsFunc(u.explaining(t, t), func(x upgrade) bool { return x.node == node })
}

// count returns the number of nodes that were upgraded before or during a period of silences.
func (u Upgrades) count(first, last time.Time) int {
	nodes := map[string]bool{}
	for _, x := range u.explaining(first, last) {
		nodes[x.node] = true
	}
	return len(nodes)
}
