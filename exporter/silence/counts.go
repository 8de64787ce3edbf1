package silence

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// node holds what Starts reports of a node, and the silences that a later report of the node may explain.
type node struct {
	// The field newest is the node's newest silence, and lost the newest one in which the node was lost. They are nil if
	// there is none.
	newest, lost *Silence
	// The field gone is the time of the Node's deletion, or zero.
	gone time.Time
	// The field until holds the time until which Starts reports each class. It is zero if the class never held.
	until [verdict.NumClasses]time.Time
}

// Sum counts the silences of one node that have the given verdict and reason, over the last day.
type Sum struct {
	Node    string
	Verdict verdict.Verdict
	Reason  verdict.Reason
	Count   uint64
	// Last is the end of the newest silence, or the current time if this silence is ongoing.
	Last time.Time
	// Longest is the length of the longest silence whose length is known, or 0.
	Longest time.Duration
}

// of returns the node with the given name. If its Node was deleted, the name now belongs to a new Node.
func (h *Store) of(name string) *node {
	n := h.nodes[name]
	if n == nil {
		if h.nodes == nil {
			h.nodes = map[string]*node{}
		}
		n = &node{}
		h.nodes[name] = n
	}
	if !n.gone.IsZero() {
		*n = node{until: n.until}
	}
	return n
}

// endedBy returns the silence that a reboot or upgrade at t explains. This is the newest silence if it is ongoing or
// ended at most the time `shown` before t.
func (h *Store) endedBy(name string, t time.Time, shown time.Duration) *Silence {
	if x := h.late[name]; x != nil {
		return x
	}
	n := h.nodes[name]
	if n == nil || n.newest == nil || !n.gone.IsZero() || !n.newest.Ended.IsZero() && t.Sub(n.newest.Ended) > shown {
		return nil
	}
	return n.newest
}

// NodeRemoved forgets a Node that was deleted at t.
func (h *Store) NodeRemoved(name string, t time.Time) {
	delete(h.late, name)
	if n := h.nodes[name]; n != nil {
		n.gone = t
	}
}

// NodeRebooted records that a node reported a new bootID. It returns the silence that the reboot explains, or nil.
func (h *Store) NodeRebooted(name string, t time.Time) *Silence {
	for _, x := range h.arrived {
		x.MayBeReboot = x.MayBeReboot || x.Node == name && t.Sub(x.Ended) <= rebootShown
	}
	x := h.endedBy(name, t, rebootShown)
	if x != nil {
		x.Rebooted = true
	}
	return x
}

// KubeletUpgraded records that a kubelet reported a different version. It returns the silence that the upgrade
// explains, or nil.
func (h *Store) KubeletUpgraded(name string, t time.Time) *Silence {
	h.Upgrades.Note(name, t)
	x := h.endedBy(name, t, upgradeShown)
	if x != nil {
		x.Upgraded = true
	}
	return x
}

// Sweep forgets the nodes that have nothing to report.
func (h *Store) Sweep(t time.Time) {
	h.classify(t)
	maps.DeleteFunc(h.nodes, func(_ string, n *node) bool {
		isReported := slices.ContainsFunc(n.until[:], t.Before) || t.Sub(n.gone) <= deletedShown
		return !isReported && (!n.gone.IsZero() || n.newest == nil || !n.newest.IsOngoing() && t.Sub(n.newest.Ended) > rebootShown)
	})
}

// reason returns a more precise reason than the verdict v about a silence. Up to the length undisturbed, nothing is unusual.
func (s *Silence) reason(v verdict.Verdict, ended time.Time, undisturbed time.Duration) verdict.Reason {
	switch {
	case s.Short:
		return verdict.Late
	case v == verdict.ControllerManager && s.NotMarked:
		return verdict.LeftReady
	case v != verdict.Node, ended.Sub(s.Began) <= undisturbed && s.ClockBack == 0:
		return verdict.NoReason
	case s.Announced != "":
		return verdict.Announced
	case s.Rebooted:
		return verdict.Rebooted
	case s.Upgraded:
		return verdict.Upgraded
	case s.ClockBack > 0:
		return verdict.ClockSetBack
	case ended.Sub(s.Began) > advice.LongestGrace:
		return verdict.Down
	}
	return verdict.Slow
}

// Sums returns the counts of the silences of the last day by node, verdict and reason. It omits those of deleted Nodes, and
// those that are explained and were shorter than the grace period.
func (h *Store) Sums(now time.Time) (all []Sum) {
	at := map[Sum]int{}
	for _, x := range slices.Concat(h.lost, h.arrived.Filter(func(x *Silence) bool { return x.Short })) {
		ended := cmp.Or(x.Ended, now)
		if x.Judgement == nil || x.IsDeleted() || x.Short && x.Explained() || now.Sub(ended) > remembered {
			continue
		}
		v := x.Judgement.Verdict()
		of := Sum{Node: x.Node, Verdict: v, Reason: x.reason(v, ended, h.Settings.Undisturbed())}
		i, known := at[of]
		if !known {
			i = len(all)
			at[of], all = i, append(all, of)
		}
		sum := &all[i]
		if sum.Count++; x.IsMeasured() {
			sum.Longest = max(sum.Longest, x.Lasted(now))
		}
		if ended.After(sum.Last) {
			sum.Last = ended
		}
	}
	slices.SortFunc(all, func(a, b Sum) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}
