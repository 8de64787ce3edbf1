package silence

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// revisableFor is the time for which a verdict can be revised after the silence has ended.
	revisableFor = time.Hour
	// maxRevisable is the maximum number of silences per node whose verdicts can still be revised.
	maxRevisable = 10
)

// node holds the silences of a node.
type node struct {
	// The list revisable holds the silences whose verdicts can still be revised, sorted by time. The list older counts
	// all older silences.
	revisable List
	older     []Sum
	// The field gone is the time of the Node's deletion, or zero.
	gone time.Time
	// The field until holds the time until which Starts reports each class. It is zero if the class never held.
	until [verdict.NumClasses]time.Time
}

// Sum counts the silences of one node that have the given verdict and reason.
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
	if n == nil || len(n.revisable) == 0 || !n.gone.IsZero() {
		return nil
	}
	x := n.revisable[len(n.revisable)-1]
	if !x.Ended.IsZero() && t.Sub(x.Ended) > shown {
		return nil
	}
	return x
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
	for _, x := range h.of(name).revisable {
		x.MayBeReboot = x.MayBeReboot || t.Sub(x.Ended) <= rebootShown
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

func (n *node) add(x *Silence, h *Store) {
	if n.revisable = append(n.revisable, x); len(n.revisable) > maxRevisable {
		n.fold(1, h)
	}
}

// fold removes the given number of silences from n.revisable, oldest first, and adds them to the counts in n.older. The
// verdicts of these silences are then final.
func (n *node) fold(some int, h *Store) {
	for _, x := range n.revisable[:some] {
		n.older = h.counted(n.older, x, (*Judgement).Reviewed, x.Ended)
	}
	n.revisable = slices.Delete(n.revisable, 0, some)
}

// Sweep drops the silences whose verdicts can no longer be revised, and keeps only their counts. It forgets deleted Nodes
// that have nothing to report.
func (h *Store) Sweep(t time.Time) {
	h.classify(t)
	for name, n := range h.nodes {
		some := slices.IndexFunc(n.revisable, func(x *Silence) bool { return x.Ended.IsZero() || t.Sub(x.Ended) <= revisableFor })
		if some < 0 {
			some = len(n.revisable)
		}
		n.fold(some, h)
		isReported := slices.ContainsFunc(n.until[:], t.Before) || t.Sub(n.gone) <= deletedShown
		if !isReported && (!n.gone.IsZero() || len(n.revisable)+len(n.older) == 0) {
			delete(h.nodes, name)
		}
	}
}

// counted adds a silence to the counts of its node. It does not add silences that are explained and were shorter than
// the grace period.
func (h *Store) counted(all []Sum, x *Silence, of func(*Judgement) verdict.Verdict, now time.Time) []Sum {
	if x.Judgement == nil || x.Short && x.Explained() {
		return all
	}
	ended, v, length := cmp.Or(x.Ended, now), of(x.Judgement), time.Duration(0)
	if x.IsMeasured() {
		length = x.Lasted(now)
	}
	reason := x.reason(v, ended, h.Settings.Undisturbed())
	i := slices.IndexFunc(all, func(y Sum) bool { return y.Verdict == v && y.Reason == reason })
	if i < 0 {
		return append(all, Sum{x.Node, v, reason, 1, ended, length})
	}
	all[i].Count++
	all[i].Longest = max(all[i].Longest, length)
	if ended.After(all[i].Last) {
		all[i].Last = ended
	}
	return all
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

// Sums returns the counts of silences by node, verdict and reason.
func (h *Store) Sums(now time.Time) (all []Sum) {
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		n := h.nodes[name]
		if !n.gone.IsZero() {
			continue
		}
		sums := slices.Clone(n.older)
		for _, x := range n.revisable {
			sums = h.counted(sums, x, (*Judgement).Verdict, now)
		}
		slices.SortFunc(sums, func(a, b Sum) int {
			return cmp.Or(cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Reason, b.Reason))
		})
		all = append(all, sums...)
	}
	return all
}
