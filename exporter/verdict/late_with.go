package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// fewest is how many nodes must be late together, if not all of them missed the grace period: single late heartbeats are more frequent than silences.
const fewest = 3

// lateWith are the silences of nodes that were late together with one of the incident, and have one cause with it. They came back within the grace period,
// so there is no incident of them. It is nil if there are too few.
func (f *NodeLoss) lateWith() []*Silence {
	if f.Within == nil || len(f.Silences) == 0 || len(f.together()) > 1 {
		return nil
	}
	own := f.grouping(byBegan(f.Silences))
	if len(own) == 0 {
		return nil
	}
	late := f.Within(own[0].Began.Add(-f.Interval), own[len(own)-1].Began.Add(f.Interval))
	if len(late) < fewest-1 {
		return nil
	}
	all := slices.Clone(own)
	for _, s := range late {
		if f.disturbed(s) && hasNear(own, s, f.Interval) {
			all = append(all, s)
		}
	}
	group := together(all, f.Interval)
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
		"independently, that happens less than once in 1,000 times", len(group), f.Nodes,
		phrase.Duration(max(group[len(group)-1].Began.Sub(group[0].Began), time.Second)))
}
