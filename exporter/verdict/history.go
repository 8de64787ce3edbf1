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
	// maxUnwatched limits the time between two kubeflap processes. After a longer interruption, kubeflap forgets the
	// silences that the earlier process saw. A shorter interruption counts as time without silences.
	maxUnwatched = time.Hour
)

// History holds the silences in a cluster over the last day. The zero value is empty.
type History struct {
	since time.Time
	// restored is the time at which an earlier process stopped observing. It is zero once this process has observed the
	// cluster.
	restored time.Time
	silences []*Silence
	// late contains the nodes whose last heartbeat is older than half the grace period. It maps each node to the time
	// of that heartbeat.
	late map[string]time.Time
	// Upgrades holds the recent upgrades of kubelets.
	Upgrades upgrades.Upgrades
}

// Past is the part of a History that kubeflap keeps across restarts: the silences that have ended, oldest first, and the
// start and end of the observation.
type Past struct {
	Since, AsOf time.Time
	Silences    []Silence
}

// Past returns copies of the silences that have ended by t. They have no Judgement, because it only affects counters
// that a restart resets. Until this process has observed a heartbeat, AsOf is the time at which an earlier process
// stopped observing.
func (h *History) Past(t time.Time) Past {
	p := Past{Since: h.since, AsOf: t}
	if !h.restored.IsZero() {
		p.AsOf = h.restored
	}
	for _, s := range h.silences {
		if s.lasts() {
			continue
		}
		ended := *s
		ended.Judgement = nil
		p.Silences = append(p.Silences, ended)
	}
	return p
}

// Restore adds the silences that an earlier process observed. Call it before any transition is observed.
func (h *History) Restore(p Past) {
	if p.Since.IsZero() {
		return
	}
	h.since, h.restored = p.Since, p.AsOf
	for i := range p.Silences {
		h.Add(&p.Silences[i])
	}
}

// Late records that a node has sent no heartbeat since the given time. This time is more than half the grace period
// ago.
func (h *History) Late(node string, since time.Time) {
	if h.late == nil {
		h.late = map[string]time.Time{}
	}
	h.late[node] = since
}

// NotLate removes a node from the late nodes because it sent a heartbeat, was deleted, or exceeded the grace period.
func (h *History) NotLate(node string) { delete(h.late, node) }

// LateNodes returns the late nodes, sorted by their last heartbeat.
func (h *History) LateNodes() (all []*Silence) {
	for node, since := range h.late {
		all = append(all, &Silence{Node: node, Began: since})
	}
	slices.SortFunc(all, func(a, b *Silence) int { return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.Node, b.Node)) })
	return all
}

// Begin records the first observation of the cluster by this process. Later calls have no effect. Begin forgets the
// restored silences if the observation was interrupted for too long, or if the clock was set back.
func (h *History) Begin(t time.Time) {
	switch unwatched := t.Sub(h.restored); {
	case h.since.IsZero():
		h.since = t
	case h.restored.IsZero():
	case unwatched < 0 || unwatched > maxUnwatched:
		h.since = t
		h.silences = slices.DeleteFunc(h.silences, func(s *Silence) bool { return !s.lasts() })
	}
	h.restored = time.Time{}
}

// Add inserts a silence in order of start times. A silence that began before kubeflap watched may be older than the
// newest one. Add then drops silences that are too old, and the oldest ones if there are too many.
func (h *History) Add(s *Silence) {
	at := len(h.silences)
	for at > 0 && h.silences[at-1].Began.After(s.Began) {
		at--
	}
	h.silences = slices.Insert(h.silences, at, s)
	old := h.silences[len(h.silences)-1].Began.Add(-remembered)
	keep := slices.IndexFunc(h.silences, func(x *Silence) bool { return x.Began.After(old) })
	// Keep ongoing silences that began before kubeflap watched, because they may have the same cause as newer silences.
	older := slices.DeleteFunc(h.silences[:keep], func(x *Silence) bool { return !x.Found.Is || !x.lasts() })
	h.silences = slices.Delete(h.silences, len(older), keep)
	h.silences = slices.Delete(h.silences, 0, max(len(h.silences)-maxRemembered, 0))
}

// lasts reports whether the silence is ongoing: no heartbeat has ended it, and the Node still exists.
func (s *Silence) lasts() bool { return s.Ended.IsZero() && !s.isDeleted() }

// Remove removes a silence that did not happen after all.
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

// SetBackTogether returns the silences that began together after t on nodes whose clocks were set back. Such nodes
// probably follow the same wrong time source. The silences began within one heartbeat interval of each other. The
// result is nil for fewer than two nodes.
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
	if all = together(all, interval); len(all) < 2 {
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
		if s.lasts() && !s.Explained() {
			all = append(all, s)
		}
	}
	return all
}

// Rate returns the rate of unexplained silences in a cluster with the given number of nodes. It omits silences that
// began before kubeflap watched. It also omits silences of the last hour, because their verdicts may still change.
func (h *History) Rate(t time.Time, nodes int) chance.Rate {
	r := chance.Rate{NodeTime: time.Duration(nodes) * min(t.Sub(h.since), remembered)}
	for _, s := range h.silences {
		if !s.Found.Is && !s.Explained() && t.Sub(s.Began) > time.Hour {
			r.Silences++
		}
	}
	return r
}
