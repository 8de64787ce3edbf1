package judge

import (
	"math"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/silence"
)

// ownRates holds how often nodes fall silent by themselves. Weak nodes do so once or more per hour. Silences that nodes have
// in common do not count: otherwise a path that fails again and again would look like chance.
type ownRates struct {
	// healthy is how often nodes fall silent by themselves for the first time, according to the day before. newcomers is the
	// number of those that did so in the last hour.
	healthy   float64
	newcomers int
	// observed is the observed part of the last hour, in hours. It is at least a quarter.
	observed float64
	nodes    map[string]ownRate
	// lasted holds how long the ended silences lasted.
	lasted []time.Duration
}

// ownRate is how often a node falls silent by itself per hour, and did so in the last hour. isNew is set if it had not done so
// before.
type ownRate struct {
	perHour float64
	lately  int
	isNew   bool
}

// measureRates counts the silences that began more than one heartbeat interval from those of other nodes, in the last hour
// and, by the verdicts about them, in the day before.
func (f *NodeLoss) measureRates() *ownRates {
	observed := max(f.Observed, f.Interval).Hours()
	x := &ownRates{observed: min(max(observed, 0.25), 1), nodes: map[string]ownRate{}}
	before, total := map[string]float64{}, 0
	for _, s := range f.Day {
		if !s.Short && !f.inLastHour(s) && !s.Found.Is && !s.Explained() && s.IsOwn() {
			before[s.Node]++
			x.nodes[s.Node] = ownRate{}
			x.noteEnd(s)
		}
	}
	f.eachAlone(func(s *silence.Silence) {
		r := x.nodes[s.Node]
		r.lately++
		total++
		x.nodes[s.Node] = r
		x.noteEnd(s)
	})
	for name, r := range x.nodes {
		n := float64(r.lately)
		if r.isNew = before[name] == 0; r.isNew {
			x.newcomers++
		}
		r.perHour = max(n/x.observed, (n+before[name])/observed)
		x.nodes[name] = r
	}
	x.healthy = max(f.perHour(0), float64(len(before))/observed)
	x.addCoincidences(2*f.Interval.Hours(), float64(total)/x.observed)
	return x
}

func (x *ownRates) noteEnd(s *silence.Silence) {
	if !s.Ended.IsZero() {
		x.lasted = append(x.lasted, s.Lasted(s.Ended))
	}
}

// endsWithin returns the probability that an independent silence that begins with one that lasted as long also ends with
// it, at most the given time apart. If this is the only silence so far, it assumes silences of up to one hour.
func (x *ownRates) endsWithin(within, lasted time.Duration) float64 {
	ends := 2 * within.Hours()
	for _, d := range x.lasted {
		if (d - lasted).Abs() <= within {
			ends++
		}
	}
	return ends / float64(len(x.lasted)+1)
}

// addCoincidences adds the silences that began by chance near those of others, which are not counted. It raises all rates
// by the same factor, which is at most e: if the sum of all rates is higher, few silences are alone.
func (x *ownRates) addCoincidences(window, alone float64) {
	near := 0.0
	for range 4 {
		near = min(1, window*alone*math.Exp(near))
	}
	for name, r := range x.nodes {
		r.perHour *= math.Exp(near)
		x.nodes[name] = r
	}
}

// eachAlone calls a function for each silence of the last hour that began more than one heartbeat interval before and after
// those of other nodes.
func (f *NodeLoss) eachAlone(do func(*silence.Silence)) {
	for _, x := range [...]struct{ some, others silence.List }{{f.cluster.recent, f.cluster.late}, {f.cluster.late, f.cluster.recent}} {
		all := x.some
		isNext := func(i, j int) bool {
			return j >= 0 && j < len(all) && all[i].Node != all[j].Node && all[i].Began.Sub(all[j].Began).Abs() <= f.Interval
		}
		for i, s := range all {
			if f.inLastHour(s) && !s.Found.Is && f.isDisturbed(s) && !isNext(i, i-1) && !isNext(i, i+1) && !f.isNear(s, x.others) {
				do(s)
			}
		}
	}
}

// chanceOf returns how probable it is that nodes fall silent by chance with the first of them, all within one heartbeat
// interval of it. If they often fall silent by themselves, it is the number of times per hour. Healthy nodes that fall
// silent together are less probable than weak ones, so the probability is that of nodes at most as weak: of some of them,
// or of all. weak is the number of nodes that also fall silent by themselves.
func (f *NodeLoss) chanceOf(group silence.List) (p float64, weak int) {
	x, own := f.cluster.rates(), []float64{0} // healthy nodes
	newcomers := x.newcomers
	for _, s := range group {
		if r, known := x.nodes[s.Node]; known {
			own = append(own, r.perHour)
		}
		if x.nodes[s.Node].isNew {
			newcomers--
		}
	}
	weak, p = len(own)-1, 1
	healthy := max(x.healthy, float64(newcomers)/x.observed)
	slices.Sort(own)
	for i, rate := range own {
		together, lately := x.atMost(rate)
		if n := len(group) - weak + i; n > 0 && (i == weak || own[i+1] > rate) {
			p = min(p, poissonTail(n-1, (healthy+together)*2*f.Interval.Hours())*max(1, float64(lately)))
		}
	}
	return p, weak
}

// atMost returns the sum of the rates of nodes that are at most as weak as the given rate, and the number of their own
// silences in the last hour.
func (x *ownRates) atMost(rate float64) (sum float64, lately int) {
	for _, r := range x.nodes {
		if r.perHour <= rate {
			sum += r.perHour
			lately += r.lately
		}
	}
	return sum, lately
}
