package verdict

import (
	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
)

// manyTimes is how many times in an hour nodes that flap by themselves are expected to fall silent together, so that doing so tells nothing.
const manyTimes = 0.05

// flapAlone is whether silences of a group share a cause, as far as it is known how often each of the nodes fell silent by itself in the last hour: such
// nodes meet by chance. It is Yes if that does not explain the group.
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

// byThemselves is how many times silences of just these nodes are expected to begin within an interval by chance in an hour, by how often each of them
// fell silent by itself in the last hour. It is 0 if one of them did not.
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

// byItself is how often each node fell silent in the last hour while no other one did, within an interval. It is counted once for all incidents.
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

// single is how often each node fell silent by itself, of so many silences.
type single struct {
	of     int
	counts map[string]float64
}
