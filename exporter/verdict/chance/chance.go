// Package chance has how likely it is that nodes fall silent independently.
package chance

import (
	"math"
	"time"
)

const (
	// Accepted is how likely independent failures may look like a common cause before a common cause is named.
	Accepted = 1.0 / 1000
	// priorSilences is how often one node falls silent by itself, in a cluster without a history: once a week.
	// With less, two unrelated nodes in one large cluster would look like one cause.
	priorSilences = 1.0
	priorTime     = 7 * 24 * time.Hour
)

// Rate is how often nodes fall silent one by one: counted, with the prior of a cluster without a history.
type Rate struct {
	// Silences is how many single silences were seen in NodeTime, the time of observation over all nodes.
	Silences int
	NodeTime time.Duration
}

// perNode is the expected number of silences of one node in d.
func (r Rate) perNode(d time.Duration) float64 {
	return (float64(r.Silences) + priorSilences) / (r.NodeTime.Hours() + priorTime.Hours()) * d.Hours()
}

// Together is how likely it is, given that one node falls silent, that at least silent-1 of the other nodes do so
// independently within the same interval, before or after it.
func (r Rate) Together(silent, nodes int, interval time.Duration) float64 {
	p := 1 - math.Exp(-r.perNode(2*interval))
	return binomialTail(nodes-1, silent-1, p)
}

// OfEnd is how likely it is that independent silences also end within the given time of each other, if they may last up to an hour.
func OfEnd(silent int, within time.Duration) float64 {
	return math.Pow(min(1, 2*within.Hours()), float64(silent-1))
}

// InTurn is how likely it is that nodes fall silent independently at least silences times in d.
func (r Rate) InTurn(silences, nodes int, d time.Duration) float64 {
	return poissonTail(silences, r.perNode(d)*float64(nodes))
}

// binomialTail is the probability of at least k successes out of n.
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

// poissonTail is the probability of at least k events of a mean.
func poissonTail(k int, mean float64) float64 {
	below, term := 0.0, math.Exp(-mean)
	for i := range k {
		below += term
		term *= mean / float64(i+1)
	}
	return max(0, 1-below)
}
