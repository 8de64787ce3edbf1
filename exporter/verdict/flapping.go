package verdict

import (
	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
)

// manyTimes is the rate per hour above which chance explains that nodes fell silent together.
const manyTimes = 0.05

// flapAlone weighs whether nodes that fell silent together have a common cause. If each of them often falls silent
// alone, chance can explain the group. The answer is Yes if chance is excluded, and No if chance explains the group.
func (f *NodeLoss) flapAlone(group []*Silence) Answer {
	expected := f.byThemselves(group)
	if expected < chance.Accepted {
		return Yes
	}
	if stopped, _ := f.ControlPlane.stopped(f.began()); expected < manyTimes || len(stopped) > 0 || f.ControlPlane.readFailed(f.span()) {
		return Unknown
	}
	return No
}

// byThemselves returns the rate per hour at which all nodes of the group fall silent together by chance. It is computed
// from how often each node fell silent alone in the last hour.
func (f *NodeLoss) byThemselves(group []*Silence) float64 {
	counts, expected := f.byItself(), 1.0
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

// byItself returns how often each node fell silent alone in the last hour. A node fell silent alone if no other node
// fell silent within one heartbeat interval. The result is cached for all incidents.
func (f *NodeLoss) byItself() map[string]float64 {
	if f.single.of == len(f.Others) && f.single.counts != nil {
		return f.single.counts
	}
	f.single = single{of: len(f.Others), counts: map[string]float64{}}
	isNear := func(all []*Silence, i, j int) bool {
		return j >= 0 && j < len(all) && all[i].Node != all[j].Node && all[i].Began.Sub(all[j].Began).Abs() <= f.Interval
	}
	all := byBegan(f.Others)
	for i, s := range all {
		if f.inLastHour(s) && f.disturbed(s) && !isNear(all, i, i-1) && !isNear(all, i, i+1) {
			f.single.counts[s.Node]++
		}
	}
	return f.single.counts
}

// single caches the result of byItself until the length of Others changes.
type single struct {
	of     int
	counts map[string]float64
}
