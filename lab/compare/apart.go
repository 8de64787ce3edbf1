package compare

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/kubeflap/kubeflap/lab/truth"
)

// Apart is how far kubeflap and the truth were ever apart on times, in seconds.
type Apart struct {
	// Age is of the heartbeats' ages, Longest of each node's longest interval, and
	// Sum of the sum of all intervals.
	Age, Longest, Sum float64
	// Scrapes is how often it was measured.
	Scrapes int
}

// Join is the larger of the two in everything.
func (a Apart) Join(b Apart) Apart {
	return Apart{max(a.Age, b.Age), max(a.Longest, b.Longest), max(a.Sum, b.Sum), a.Scrapes + b.Scrapes}
}

// String is for the log.
func (a Apart) String() string {
	ms := func(seconds float64) string { return fmt.Sprintf("%.1f ms", 1000*seconds) }
	return fmt.Sprintf("in %d scrapes kubeflap and the truth were at most %s apart on a heartbeat's age, %s on a node's longest interval, %s on the sum of all intervals",
		a.Scrapes, ms(a.Age), ms(a.Longest), ms(a.Sum))
}

// Measure scrapes every period until the context ends. A scrape that fails
// measures nothing; the comparison in the end will tell why. The error is of what went back meanwhile.
func (c Comparison) Measure(ctx context.Context, period time.Duration) (apart Apart, wentBack error) {
	var last truth.Counts
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return apart, wentBack
		case <-tick.C:
		}
		m, err := c.look(ctx)
		if err != nil {
			continue
		}
		apart = apart.Join(m.apart())
		if wentBack == nil {
			wentBack = WentBack(last, m.told)
		}
		last = m.told
	}
}

// apart includes the time that the scrape took, because nobody knows when in it
// kubeflap looked at the clock: it is never less than the true difference.
func (m moment) apart() Apart {
	a := Apart{Scrapes: 1}
	for series := range m.told {
		name := truth.Name(series)
		node := series[len(name):]
		switch {
		case name == heartbeatAge && m.still(heartbeats+node):
			a.Age = max(a.Age, m.off(series))
		case name == intervalMax && m.still(heartbeats+node):
			a.Longest = max(a.Longest, m.off(series))
		case name == intervalSum && m.still(intervalCount):
			a.Sum = max(a.Sum, m.off(series))
		}
	}
	return a
}

// still reports that a count did not move and that both have the same: times of
// different heartbeats cannot be compared.
func (m moment) still(series string) bool {
	return m.before[series] == m.told[series] && m.told[series] == m.after[series]
}

func (m moment) off(series string) float64 {
	return max(math.Abs(m.told[series]-m.before[series]), math.Abs(m.told[series]-m.after[series]))
}
