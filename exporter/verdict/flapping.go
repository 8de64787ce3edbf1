package verdict

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
)

// manyTimes is how many times in an hour nodes that flap by themselves are expected to fall silent together, so that doing so tells nothing.
const manyTimes = 0.05

// flapAlone is whether silences of a group share a cause, as far as it is known how often each of the nodes fell silent by itself in the last hour: such
// nodes meet by chance. It is Yes if that does not explain the group.
func (f *NodeLoss) flapAlone(group []*Silence) Answer {
	stopped, _ := f.stopped()
	switch expected := f.byThemselves(group); {
	case expected < chance.Accepted:
		return Yes
	case expected < manyTimes || len(stopped) > 0 || f.readFailed():
		return Unknown
	}
	return No
}

// byThemselves is how many times silences of just these nodes are expected to begin within an interval by chance in an hour, by how often each of them
// fell silent by itself in the last hour. It is 0 if one of them did not.
func (f *NodeLoss) byThemselves(group []*Silence) float64 {
	expected := 1.0
	for i, s := range group {
		expected *= f.singles(s.Node)
		if i > 0 {
			expected *= (2 * f.Interval).Hours()
		}
		if expected == 0 {
			return 0
		}
	}
	return expected
}

// singles is how often a node fell silent in the last hour while no other one did, within an interval.
func (f *NodeLoss) singles(node string) float64 {
	n := 0.0
	for _, s := range f.Others {
		isNear := func(x *Silence) bool { return x.Node != node && x.Began.Sub(s.Began).Abs() <= f.Interval }
		if s.Node == node && f.inLastHour(s) && f.disturbed(s) && !slices.ContainsFunc(f.Others, isNear) {
			n++
		}
	}
	return n
}
