package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// fewest is the minimum number of late nodes for a common cause if some of them returned within the grace period. It is
// higher than the minimum for silences (2), because late heartbeats are more frequent.
const fewest = 3

// lateWith returns the silences of nodes that became late at the same time as one of the incident's nodes, and for the
// same reason. The result includes nodes that returned within the grace period, and therefore have no incident of their
// own. It is nil if there are too few such nodes.
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
		"independent failures look like this in less than 0.1 %% of cases", len(group), f.Nodes,
		phrase.Duration(max(group[len(group)-1].Began.Sub(group[0].Began), time.Second)))
}
