package verdict

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
	"github.com/kubeflap/kubeflap/exporter/verdict/upgrades"
)

const (
	// remembered is how long a silence counts toward the cluster's rate of silences. maxRemembered limits the number of
	// these silences.
	remembered    = 24 * time.Hour
	maxRemembered = 1000
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
	Upgrades upgrades.Upgrades
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
func (h *History) LateNodes() (all []*Silence) {
	for node, since := range h.late {
		all = append(all, &Silence{Node: node, Began: since})
	}
	slices.SortFunc(all, func(a, b *Silence) int { return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.Node, b.Node)) })
	return all
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

// isOngoing reports whether the silence is ongoing: no heartbeat has ended it, and the Node still exists.
func (s *Silence) isOngoing() bool { return s.Ended.IsZero() && !s.isDeleted() }

// Remove deletes a silence that did not really happen.
func (h *History) Remove(s *Silence) {
	h.silences = slices.DeleteFunc(h.silences, func(x *Silence) bool { return x == s })
}

// Lasted returns the duration of the silence, up to now if it is ongoing.
func (s *Silence) Lasted(now time.Time) time.Duration {
	switch {
	case !s.Ended.IsZero():
		return s.Ended.Sub(s.Began)
	case s.isDeleted():
		return s.Deleted.Sub(s.Began)
	}
	return now.Sub(s.Began)
}

// Explained reports whether the silence has a known cause on its own node: an announced departure, a reboot, a changed
// kubelet version, or a clock that was set back.
func (s *Silence) Explained() bool {
	return s.Announced != "" || s.Rebooted || s.Upgraded || s.ClockBack > 0
}

// SetBackTogether returns silences of nodes whose clocks were set back. The silences began after t, and within one
// interval of each other. These nodes probably use the same wrong time source. The result is nil for fewer than two
// nodes.
func (h *History) SetBackTogether(t time.Time, interval time.Duration) []*Silence {
	var all []*Silence
	for _, s := range slices.Backward(h.silences) {
		if !s.Began.After(t) {
			break
		}
		if s.ClockBack > 0 {
			all = append(all, s)
		}
	}
	if all = largestGroupOf(all, interval); len(all) < 2 {
		return nil
	}
	return all
}

// After returns the unexplained silences that began after t.
func (h *History) After(t time.Time) (all []*Silence) {
	for _, s := range slices.Backward(h.silences) {
		if !s.Began.After(t) {
			break
		}
		if !s.Explained() {
			all = append(all, s)
		}
	}
	return all
}

// AfterOrLasting returns the unexplained silences that began after t or are ongoing.
func (h *History) AfterOrLasting(t time.Time) []*Silence {
	all := h.After(t)
	for _, s := range h.silences {
		if s.Began.After(t) {
			break
		}
		if s.isOngoing() && !s.Explained() {
			all = append(all, s)
		}
	}
	return all
}

// Rate returns the rate of unexplained silences in a cluster with the given number of nodes. It omits silences that
// began before kubeflap started watching. It also omits silences that began in the last hour, because their verdicts
// may still change.
func (h *History) Rate(t time.Time, nodes int) chance.Rate {
	r := chance.Rate{NodeTime: time.Duration(nodes) * min(t.Sub(h.since), remembered)}
	for _, s := range h.silences {
		if !s.Found.Is && !s.Explained() && t.Sub(s.Began) > time.Hour {
			r.Silences++
		}
	}
	return r
}
