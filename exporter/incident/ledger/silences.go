package ledger

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// revisableFor is the time for which a verdict can be revised after the silence has ended.
	revisableFor = time.Hour
	// maxRevisable is the maximum number of silences per node whose verdicts can still be revised.
	maxRevisable = 10
)

// silences holds the silences of a node, and facts that may explain its next silence.
type silences struct {
	// The list revisable holds the silences whose verdicts can still be revised, sorted by time. The list older counts
	// all older silences.
	revisable []*silence
	older     []incident.Silences
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

// silence is either a silence that belongs to an incident, or the interval before a late heartbeat.
type silence struct {
	*verdict.Silence
	// withinGracePeriod is set if the next heartbeat arrived before the grace period ended. If so, there is no
	// incident.
	withinGracePeriod bool
	// mayBeReboot is set if the node reported a new bootID soon after the silence. The report may be delayed, so the
	// reboot may have caused this silence or a newer one.
	mayBeReboot bool
}

func (n *silences) newest() *silence {
	if len(n.revisable) == 0 {
		return nil
	}
	return n.revisable[len(n.revisable)-1]
}

// endedBy returns the silence that a reboot or upgrade at t explains. This is the newest silence if it is ongoing or
// ended at most the time `shown` before t. If a heartbeat became late after the silence, endedBy returns nil. In this
// case, the reboot or upgrade explains the later delay.
func (n *silences) endedBy(t time.Time, shown time.Duration) *verdict.Silence {
	x := n.newest()
	if x == nil || !x.Ended.IsZero() && (n.becameLate.After(x.Ended) || t.Sub(x.Ended) > shown) {
		return nil
	}
	return x.Silence
}

// beforeLate returns a silence for a late heartbeat that arrived within the grace period.
func (n *silences) beforeLate(name string, began, ended time.Time) *silence {
	x := &verdict.Silence{Node: name, Began: began, Ended: ended, Announced: n.announced, Rebooted: n.rebooted.After(began), Upgraded: n.upgraded.After(began)}
	if n.setBack.After(began) {
		x.ClockBack = n.by
	}
	return &silence{Silence: x, withinGracePeriod: true}
}

func (h *Heartbeats) add(n *silences, x *silence) {
	if n.revisable = append(n.revisable, x); len(n.revisable) > maxRevisable {
		h.fold(n, 1)
	}
}

// fold removes the given number of silences from n.revisable, oldest first, and adds them to the counts in n.older. The
// verdicts of these silences are then final.
func (h *Heartbeats) fold(n *silences, some int) {
	for _, x := range n.revisable[:some] {
		n.older = h.counted(n.older, x, (*verdict.Judgement).Reviewed, x.Ended)
	}
	n.revisable = slices.Delete(n.revisable, 0, some)
}

// sweep drops the silences whose verdicts can no longer be revised, and keeps only their counts.
func (h *Heartbeats) sweep(t time.Time) {
	for _, n := range h.nodes {
		some := slices.IndexFunc(n.revisable, func(x *silence) bool { return x.Ended.IsZero() || t.Sub(x.Ended) <= revisableFor })
		if some < 0 {
			some = len(n.revisable)
		}
		h.fold(n, some)
	}
}

func (x *silence) length() time.Duration { return x.Ended.Sub(x.Began) }

// isCausedByNode reports whether the node itself caused the silence.
func (x *silence) isCausedByNode() bool {
	return x.Judgement != nil && x.Judgement.Verdict() == verdict.Node && !x.Explained()
}

// counted adds a silence to the counts of its node. It does not add silences that are explained and were shorter than
// the grace period.
func (h *Heartbeats) counted(all []incident.Silences, x *silence, of func(*verdict.Judgement) verdict.Verdict, now time.Time) []incident.Silences {
	if x.Judgement == nil || !x.Began.After(h.counting) || x.withinGracePeriod && x.Explained() {
		return all
	}
	ended := x.Ended
	if ended.IsZero() {
		ended = now
	}
	v := of(x.Judgement)
	reason := h.reasonOf(x, v, ended)
	i := slices.IndexFunc(all, func(y incident.Silences) bool { return y.Verdict == v && y.Reason == reason })
	if i < 0 {
		return append(all, incident.Silences{Node: x.Node, Verdict: v, Reason: reason, Count: 1, Last: ended})
	}
	all[i].Count++
	if ended.After(all[i].Last) {
		all[i].Last = ended
	}
	return all
}

// reasonOf returns a more precise reason than the verdict v about a silence.
func (h *Heartbeats) reasonOf(x *silence, v verdict.Verdict, ended time.Time) verdict.Reason {
	switch {
	case x.withinGracePeriod:
		return verdict.Late
	case v != verdict.Node, ended.Sub(x.Began) <= h.Undisturbed():
		return verdict.NoReason
	case x.Announced != "":
		return verdict.Announced
	case x.Rebooted:
		return verdict.Rebooted
	case x.Upgraded:
		return verdict.Upgraded
	case x.ClockBack > 0:
		return verdict.ClockSetBack
	case ended.Sub(x.Began) > advice.LongestGrace:
		return verdict.Down
	}
	return verdict.Slow
}

// silences returns the counts of silences by node, verdict and reason.
func (h *Heartbeats) silences(now time.Time) (all []incident.Silences) {
	for _, name := range slices.Sorted(maps.Keys(h.nodes)) {
		sums := slices.Clone(h.nodes[name].older)
		for _, x := range h.nodes[name].revisable {
			sums = h.counted(sums, x, (*verdict.Judgement).Verdict, now)
		}
		slices.SortFunc(sums, func(a, b incident.Silences) int {
			return cmp.Or(cmp.Compare(a.Verdict, b.Verdict), cmp.Compare(a.Reason, b.Reason))
		})
		all = append(all, sums...)
	}
	return all
}
