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

// node holds the silences of a node, and facts that may explain its next silence.
type node struct {
	// The list revisable holds the silences whose verdicts can still be revised, sorted by time. The list older counts
	// all older silences.
	revisable List
	older     []Sum
	// becameLate is the last time at which a heartbeat became late. The field announced describes how the node's
	// departure had been announced by that time. It is empty if there was no announcement.
	becameLate time.Time
	announced  string
	// The field rebooted is the last time at which the node reported a new bootID. The field upgraded is the last time
	// at which the node reported a different kubelet version. The field setBack is the last time at which its clock was
	// set back, and `by` is the size of that clock step.
	rebooted, upgraded, setBack time.Time
	by                          time.Duration
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

func (h *Store) of(name string) *node {
	n := h.nodes[name]
	if n == nil {
		if h.nodes == nil {
			h.nodes = map[string]*node{}
		}
		n = &node{}
		h.nodes[name] = n
	}
	return n
}

func (n *node) newest() *Silence {
	if len(n.revisable) == 0 {
		return nil
	}
	return n.revisable[len(n.revisable)-1]
}

// endedBy returns the silence that a reboot or upgrade at t explains. This is the newest silence if it is ongoing or
// ended at most the time `shown` before t. If a heartbeat became late after the silence, endedBy returns nil. In this
// case, the reboot or upgrade explains the later delay.
func (n *node) endedBy(t time.Time, shown time.Duration) *Silence {
	x := n.newest()
	if x == nil || !x.Ended.IsZero() && (n.becameLate.After(x.Ended) || t.Sub(x.Ended) > shown) {
		return nil
	}
	return x
}

// NodeRemoved forgets a Node that was deleted at t.
func (h *Store) NodeRemoved(name string, t time.Time) {
	delete(h.nodes, name)
	delete(h.late, name)
	if n := h.starts[name]; n != nil {
		n.gone = t
	}
}

// NodeRebooted records that a node reported a new bootID. It returns the silence that the reboot explains, or nil.
func (h *Store) NodeRebooted(name string, t time.Time) *Silence {
	n := h.of(name)
	n.rebooted = t
	for _, x := range n.revisable {
		x.MayBeReboot = x.MayBeReboot || t.Sub(x.Ended) <= rebootShown
	}
	x := n.endedBy(t, rebootShown)
	if x != nil {
		x.Rebooted = true
	}
	return x
}

// KubeletUpgraded records that a kubelet reported a different version. It returns the silence that the upgrade
// explains, or nil.
func (h *Store) KubeletUpgraded(name string, t time.Time) *Silence {
	h.Upgrades.Note(name, t)
	n := h.of(name)
	n.upgraded = t
	x := n.endedBy(t, upgradeShown)
	if x != nil {
		x.Upgraded = true
	}
	return x
}

// ClockSetBack records that a node's clock was set back.
func (h *Store) ClockSetBack(name string, t time.Time, by time.Duration) {
	n := h.of(name)
	n.setBack, n.by = t, by
}

// Recount counts the silence of a deleted Node, whose machine has registered again.
func (h *Store) Recount(s *Silence) { h.of(s.Node).add(s, h) }

func (n *node) add(x *Silence, h *Store) {
	if n.revisable = append(n.revisable, x); len(n.revisable) > maxRevisable {
		n.fold(1, h)
	}
}

// fold removes the given number of silences from n.revisable, oldest first, and adds them to the counts in n.older. The
// verdicts of these silences are then final.
func (n *node) fold(some int, h *Store) {
	for _, x := range n.revisable[:some] {
		n.older = h.counted(n.older, x, x.Judgement.Reviewed, x.Ended)
	}
	n.revisable = slices.Delete(n.revisable, 0, some)
}

// Sweep drops the silences whose verdicts can no longer be revised, and keeps only their counts.
func (h *Store) Sweep(t time.Time) {
	h.classify(t, h.Settings.Period)
	for _, n := range h.nodes {
		some := slices.IndexFunc(n.revisable, func(x *Silence) bool { return x.Ended.IsZero() || t.Sub(x.Ended) <= revisableFor })
		if some < 0 {
			some = len(n.revisable)
		}
		n.fold(some, h)
	}
}

// counted adds a silence to the counts of its node. It does not add silences that are explained and were shorter than
// the grace period.
func (h *Store) counted(all []Sum, x *Silence, of func() verdict.Verdict, now time.Time) []Sum {
	if x.Judgement == nil || x.Short && x.Explained() {
		return all
	}
	ended, v, length := cmp.Or(x.Ended, now), of(), time.Duration(0)
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
		sums := slices.Clone(h.nodes[name].older)
		for _, x := range h.nodes[name].revisable {
			sums = h.counted(sums, x, x.Judgement.Verdict, now)
		}
		slices.SortFunc(sums, func(a, b Sum) int {
			return cmp.Or(cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Reason, b.Reason))
		})
		all = append(all, sums...)
	}
	return all
}
