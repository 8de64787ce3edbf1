package verdict

import (
	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
)

// manyTimes is a number of times per hour. If chance alone makes the nodes of a group fall silent together more often,
// the group is no evidence of a common cause.
const manyTimes = 0.05

// flapAlone weighs whether nodes that fell silent together have a common cause. Nodes that also fall silent alone may
// do so together by chance. flapAlone returns Yes if chance is excluded, and No if chance explains the group.
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

// byThemselves estimates how often per hour all nodes of the group fall silent within one heartbeat interval by chance.
// The estimate uses each node's number of single silences (byItself). It is 0 if one of these numbers is 0.
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

// byItself returns each node's number of single silences in the last hour. A silence is single if no other node fell
// silent within one heartbeat interval before or after it. The result is cached for all incidents.
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

// single caches the result of byItself (counts). It is valid while the length of Others is the same (of).
type single struct {
	of     int
	counts map[string]float64
}
