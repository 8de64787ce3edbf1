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

// ofGroup returns the probability that, by chance, a silence belongs to a group of at least the given size. All nodes
// of the group fall silent within one heartbeat interval of that silence.
func (r Rate) ofGroup(silent, nodes int, interval time.Duration) float64 {
	return binomialTail(nodes-1, silent-1, 1-math.Exp(-r.perNode(2*interval)))
}

// inTurn returns the probability of at least the given number of independent silences within an hour.
func (r Rate) inTurn(silences, nodes int) float64 {
	return poissonTail(silences, r.perNode(time.Hour)*float64(nodes))
}

// endsWithin returns the probability that the ends of independent silences are not further apart than the given time.
// It assumes silences of up to one hour.
func endsWithin(silent int, within time.Duration) float64 {
	return math.Pow(min(1, 2*within.Hours()), float64(silent-1))
}

// binomialTail returns the probability of at least k successes in n trials.
func binomialTail(n, k int, p float64) float64 {
	switch {
	case k <= 0:
		return 1
	case k > n || p <= 0:
		return 0
	}
	logChoose, _ := math.Lgamma(float64(n + 1))
	a, _ := math.Lgamma(float64(k + 1))
	b, _ := math.Lgamma(float64(n - k + 1))
	term := math.Exp(logChoose - a - b + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	sum := 0.0
	for i := k; i <= n; i++ {
		if sum += term; term < sum*1e-12 {
			break
		}
		term *= float64(n-i) / float64(i+1) * p / (1 - p)
	}
	return min(sum, 1)
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
