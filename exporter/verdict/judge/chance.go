package judge

import (
	"math"
	"time"
)

const (
	// significance is the probability below which chance is excluded as an explanation. It limits the share of cases in
	// which independent failures look like a common cause.
	significance = 1.0 / 1000
	// priorSilences is the assumed number of silences per node in priorTime, for a cluster without a history. With a
	// smaller number, two unrelated silences in a large cluster would look related.
	priorSilences = 1.0
	priorTime     = 7 * 24 * time.Hour
)

// perHour returns the expected number of silences of all nodes in an hour, if there were some silences while kubeflap
// observed the cluster. It adds a prior for clusters with a short history.
func (f *NodeLoss) perHour(silences int) float64 {
	nodes := float64(f.Nodes)
	return (float64(silences) + priorSilences) / (f.Observed.Hours()*nodes + priorTime.Hours()) * nodes
}

// poissonTail returns the probability of at least k events under a Poisson distribution with the given mean.
func poissonTail(k int, mean float64) float64 {
	below, term := 0.0, math.Exp(-mean)
	for i := range k {
		below += term
		term *= mean / float64(i+1)
	}
	return max(0, 1-below)
}
