package verdict

import (
	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
)

// manyTimes is the rate per hour above which chance explains that nodes fell silent together.
const manyTimes = 0.05

// flapAlone judges whether nodes that fell silent together have a common cause. If each of them often falls silent
// alone, chance can explain the group. The answer is Yes if chance is excluded, and No if chance explains the group.
func (f *NodeLoss) flapAlone(group []*Silence) Answer {
	expected := f.coincidenceRate(group)
	if expected < chance.SignificanceLevel {
		return Yes
	}
	if stopped, _ := f.ControlPlane.stopped(f.began()); expected < manyTimes || len(stopped) > 0 || f.ControlPlane.readFailed(f.span()) {
		return Unknown
	}
	return No
}

// coincidenceRate returns the rate per hour at which all nodes of the group fall silent together by chance. It is
// computed from how often each node fell silent alone in the last hour.
func (f *NodeLoss) coincidenceRate(group []*Silence) float64 {
	counts, expected := f.soloCounts(), 1.0
	for i, s := range group {
		expected *= counts[s.Node]
		if i > 0 {
			expected *= (2 * f.Interval).Hours()
		}
		if expected == 0 {
			return 0
		}
	}
	return expected
}

// soloCounts returns how often each node fell silent alone in the last hour. A node fell silent alone if no other node
// fell silent within one heartbeat interval. The result is cached for all incidents.
func (f *NodeLoss) soloCounts() map[string]float64 {
	if f.soloCache.recentLen == len(f.Recent) && f.soloCache.counts != nil {
		return f.soloCache.counts
	}
	f.soloCache = soloCache{recentLen: len(f.Recent), counts: map[string]float64{}}
	isNear := func(all []*Silence, i, j int) bool {
		return j >= 0 && j < len(all) && all[i].Node != all[j].Node && all[i].Began.Sub(all[j].Began).Abs() <= f.Interval
	}
	all := byBegan(f.Recent)
	for i, s := range all {
		if f.inLastHour(s) && f.isDisturbed(s) && !isNear(all, i, i-1) && !isNear(all, i, i+1) {
			f.soloCache.counts[s.Node]++
		}
	}
	return f.soloCache.counts
}

// soloCache caches the result of soloCounts until the length of Recent changes.
type soloCache struct {
	recentLen int
	counts    map[string]float64
}
