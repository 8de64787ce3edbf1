package silence

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

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
	for _, x := range h.all {
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
