package verdict

import (
	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
)

// manyTimes is the hourly rate above which a group of flapping nodes is not evidence of a common cause. Such nodes
// often fall silent together by chance.
const manyTimes = 0.05

// flapAlone weighs whether a group has a common cause. If its nodes also fall silent alone, they may fall silent
// together by chance. flapAlone returns Yes if chance is excluded, and No if chance explains the group.
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

// byThemselves returns the expected number of times per hour that the group's nodes fall silent within one interval by
// chance. It considers each node's single silences in the last hour. It returns 0 if one of the nodes had no single
// silence.
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
// silent within one interval before or after it. The result is cached for all incidents.
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

// single caches each node's number of single silences (counts), and the length of the list from which these numbers
// were computed (of).
type single struct {
	of     int
	counts map[string]float64
}
