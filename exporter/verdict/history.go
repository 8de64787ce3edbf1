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
	// remembered is how long silences count for the rate of a cluster; maxRemembered bounds how many.
	remembered    = 24 * time.Hour
	maxRemembered = 1000
)

// History are the silences of a cluster in the last day. The zero value has none.
type History struct {
	since    time.Time
	silences []*Silence
	// late are the nodes that have sent no heartbeat for more than half of the grace period, with the time of the last one.
	late map[string]time.Time
	// Upgrades are those of the kubelets.
	Upgrades upgrades.Upgrades
}

// Late notes that a node has sent no heartbeat since a time, for more than half of the grace period.
func (h *History) Late(node string, since time.Time) {
	if h.late == nil {
		h.late = map[string]time.Time{}
	}
	h.late[node] = since
}

// NotLate notes a heartbeat, or that the node is gone, or silent for the whole grace period.
func (h *History) NotLate(node string) { delete(h.late, node) }

// LateNodes are the late nodes, by the time of their last heartbeat.
func (h *History) LateNodes() (all []*Silence) {
	for node, since := range h.late {
		all = append(all, &Silence{Node: node, Began: since})
	}
	slices.SortFunc(all, func(a, b *Silence) int { return cmp.Or(a.Began.Compare(b.Began), strings.Compare(a.Node, b.Node)) })
	return all
}

// Begin notes when the observation began.
func (h *History) Begin(t time.Time) {
	if h.since.IsZero() {
		h.since = t
	}
}

// Add adds a silence. It is the newest one, except for those that began before kubeflap watched.
func (h *History) Add(s *Silence) {
	at := len(h.silences)
	for at > 0 && h.silences[at-1].Began.After(s.Began) {
		at--
	}
	h.silences = slices.Insert(h.silences, at, s)
	old := h.silences[len(h.silences)-1].Began.Add(-remembered)
	keep := slices.IndexFunc(h.silences, func(x *Silence) bool { return x.Began.After(old) })
	older := slices.DeleteFunc(h.silences[:keep], func(x *Silence) bool { return !x.Found.Is || !x.lasts() }) // they may have one cause with others that are found
	h.silences = slices.Delete(h.silences, len(older), keep)
	h.silences = slices.Delete(h.silences, 0, max(len(h.silences)-maxRemembered, 0))
}

// lasts reports whether no heartbeat has ended it, and the Node is still there.
func (s *Silence) lasts() bool { return s.Ended.IsZero() && !s.isDeleted() }

// Remove withdraws a silence that did not happen.
func (h *History) Remove(s *Silence) {
	h.silences = slices.DeleteFunc(h.silences, func(x *Silence) bool { return x == s })
}

// Lasted is how long a silence lasted, or has lasted by now.
func (s *Silence) Lasted(now time.Time) time.Duration {
	switch {
	case !s.Ended.IsZero():
		return s.Ended.Sub(s.Began)
	case s.isDeleted():
		return s.Deleted.Sub(s.Began)
	}
	return now.Sub(s.Began)
}

// Explained reports whether it is known what one node was silent for: it was announced, ended with a reboot or another kubelet, or its clock was set back.
func (s *Silence) Explained() bool {
	return s.Announced != "" || s.Rebooted || s.Upgraded || s.NotReady || s.ClockBack > 0
}

// SetBackTogether are the silences after t of nodes whose clocks were set back within an interval; nil if there is only one. They follow the same wrong time.
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

// After are the unexplained silences that began after t.
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

// AfterOrLasting are the unexplained silences that began after t, or last.
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

// Rate is how often nodes fell silent one by one, of a cluster with so many nodes. Silences of the last hour are the ones in question,
// so they do not count, and neither do those from before the observation.
func (h *History) Rate(t time.Time, nodes int) chance.Rate {
	r := chance.Rate{NodeTime: time.Duration(nodes) * min(t.Sub(h.since), remembered)}
	for _, s := range h.silences {
		if !s.Found.Is && !s.Explained() && t.Sub(s.Began) > time.Hour {
			r.Silences++
		}
	}
	return r
}
