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

// Rate is the observed rate of silences per node. The methods add a prior for clusters with a short history.
type Rate struct {
	// Silences is the number of observed silences. NodeTime is the observed time, summed over all nodes.
	Silences int
	NodeTime time.Duration
}

// perNode returns the expected number of silences of one node in the duration d.
func (r Rate) perNode(d time.Duration) float64 {
	return (float64(r.Silences) + priorSilences) / (r.NodeTime.Hours() + priorTime.Hours()) * d.Hours()
}

// inTurn returns the probability of at least the given number of independent silences within an hour.
func (r Rate) inTurn(silences, nodes int) float64 {
	return poissonTail(silences, r.perNode(time.Hour)*float64(nodes))
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
