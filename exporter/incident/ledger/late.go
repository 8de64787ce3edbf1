package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// lateFor is the time for which a late heartbeat affects the recommended grace period. If the heartbeat arrived
	// after the grace period, or if its node had at least `often` late heartbeats, this time is lateRemembered instead.
	// maxLate limits the number of late heartbeats in memory.
	lateFor        = 10 * time.Minute
	lateRemembered = 24 * time.Hour
	often          = 3
	maxLate        = 500
)

// record records that a late heartbeat arrived at t. The parameter interval is the time since the previous
// heartbeat. The parameter `nodes` is the number of nodes in the cluster.
func (h *Heartbeats) record(name string, t time.Time, interval time.Duration, nodes int) {
	h.count = nodes
	n := h.of(name)
	x := n.newest()
	if x == nil || x.withinGracePeriod || !x.Ended.Equal(t) {
		if !n.becameLate.After(t.Add(-interval)) {
			return // kubeflap may have missed heartbeats during the interval
		}
		x = n.beforeLate(name, t.Add(-interval), t)
		h.add(n, x)
	}
	h.late = append(h.late, x)
	old := t.Add(-lateRemembered)
	keep := slices.IndexFunc(h.late, func(x *silence) bool { return x.Ended.After(old) })
	h.late = slices.Delete(h.late, 0, max(keep, len(h.late)-maxLate))
}

// Late is a late heartbeat, with the silence before it.
type Late struct {
	Silence           verdict.Silence `json:"silence"`
	WithinGracePeriod bool            `json:"within_grace_period,omitempty"`
	MayBeReboot       bool            `json:"may_be_reboot,omitempty"`
}

// past returns the late heartbeats of the day before t, oldest first.
func (h *Heartbeats) past(t time.Time) (all []Late) {
	for _, x := range h.late {
		if !x.Ended.After(t) {
			all = append(all, Late{*x.Silence, x.withinGracePeriod, x.mayBeReboot})
		}
	}
	return all
}

// restore adds late heartbeats that were seen before kubeflap's current observation.
func (h *Heartbeats) restore(all []Late) {
	for i := range all {
		h.late = append(h.late, &silence{&all[i].Silence, all[i].WithinGracePeriod, all[i].MayBeReboot})
	}
}

// longestToBridge returns the longest heartbeat interval that the grace period should tolerate. It ignores intervals
// above advice.LongestGrace, and intervals that the node itself did not cause.
func (h *Heartbeats) longestToBridge(now time.Time) time.Duration {
	sorted := slices.Clone(h.late)
	slices.SortStableFunc(sorted, func(a, b *silence) int { return cmp.Compare(b.length(), a.length()) })
	for _, x := range sorted {
		if x.length() <= advice.LongestGrace && h.justifiesLongerGracePeriod(x, now) {
			return x.length()
		}
	}
	return 0
}

// justifiesLongerGracePeriod reports whether a late heartbeat is a reason for a longer grace period.
func (h *Heartbeats) justifiesLongerGracePeriod(x *silence, now time.Time) bool {
	age := now.Sub(x.Ended)
	if age > lateRemembered || !x.isCausedByNode() || x.mayBeReboot {
		return false
	}
	times := 0
	for _, y := range h.late {
		if y.Node == x.Node && y.isCausedByNode() {
			times++
		}
	}
	return !x.withinGracePeriod || age <= lateFor || times >= often
}

// judgeLate decides whether the late heartbeats of the last hour have a shared cause, or whether each node itself is at
// fault. It skips heartbeats that arrived after the grace period, because those belong to incidents. The parameter f
// holds the current facts about the cluster.
func (h *Heartbeats) judgeLate(f *verdict.NodeLoss) {
	var open []*silence
	for _, x := range slices.Backward(h.late) {
		if f.Now.Sub(x.Ended) > time.Hour {
			break
		}
		if x.withinGracePeriod && !x.Explained() {
			open = append(open, x)
			f.Recent = append(f.Recent, x.Silence)
		}
	}
	f.Recent = append(f.Recent, f.Late...)
	for _, x := range open {
		if x.Judgement != nil && x.Judgement.Verdict() == verdict.SharedPath {
			continue
		}
		f.Silences = []*verdict.Silence{x.Silence}
		switch x.Judgement = nil; verdict.SharedPathAnswer(f) {
		case verdict.Yes:
			x.Judgement = verdict.NewJudgement(verdict.SharedPath)
		case verdict.No:
			x.Judgement = verdict.NewJudgement(verdict.Node)
		case verdict.Unknown:
		}
	}
}

// within returns the unexplained silences that began in the given period and were shorter than the grace period.
func (h *Heartbeats) within(from, to time.Time) (all []*verdict.Silence) {
	start, _ := slices.BinarySearchFunc(h.late, from, func(x *silence, t time.Time) int { return x.Ended.Compare(t) })
	for _, x := range h.late[start:] {
		if x.Ended.Sub(to) > 2*h.Settings.Period {
			break
		}
		if x.withinGracePeriod && !x.Explained() && !x.Began.Before(from) && !x.Began.After(to) {
			all = append(all, x.Silence)
		}
	}
	return all
}
