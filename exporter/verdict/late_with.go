package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// fewest is the minimum size of a group in which some nodes recovered within the grace period. All other groups need
// only two nodes, because longer silences are rarer.
const fewest = 3

// lateWith returns silences that began together and have a common cause. At least one of them belongs to the incident.
// The others may be too short for an incident. The result is nil if there is no such group.
func (f *NodeLoss) lateWith() []*Silence {
	if f.ShortSilences == nil || len(f.Silences) == 0 || len(f.largestGroup()) > 1 {
		return nil
	}
	own := f.groupable(byBegan(f.Silences))
	if len(own) == 0 {
		return nil
	}
	late := f.ShortSilences(own[0].Began.Add(-f.Interval), own[len(own)-1].Began.Add(f.Interval))
	if len(late) < fewest-1 {
		return nil
	}
	all := slices.Clone(own)
	for _, s := range late {
		if f.isDisturbed(s) && hasNear(own, s, f.Interval) {
			all = append(all, s)
		}
	}
	group := largestGroupOf(all, f.Interval)
	isOwn := func(s *Silence) bool { return slices.Contains(own, s) }
	if len(group) < fewest || !slices.ContainsFunc(group, isOwn) {
		return nil
	}
	if holds, _ := f.oneCause(group); holds != Yes {
		return nil
	}
	return group
}

func (f *NodeLoss) lateWithText(group []*Silence) string {
	return fmt.Sprintf("the heartbeats of %d of %d nodes became late within %s, some of them for less than the grace period: "+
		"independent failures look like this in less than 0.1 %% of cases", len(group), f.Nodes,
		phrase.Duration(max(group[len(group)-1].Began.Sub(group[0].Began), time.Second)))
}
