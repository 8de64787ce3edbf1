package compare

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/kubeflap/kubeflap/lab/truth"
)

// Apart holds the largest differences between kubeflap's times and the recorder's times, in seconds.
type Apart struct {
	// Age is the difference in the age of a heartbeat. Longest is the difference in a node's longest heartbeat
	// interval. Sum is the difference in the sum of all heartbeat intervals.
	Age, Longest, Sum float64
	// Scrapes is the number of scrapes that were compared.
	Scrapes int
}

// Join returns the maximum of each difference, and the sum of Scrapes.
func (a Apart) Join(b Apart) Apart {
	return Apart{max(a.Age, b.Age), max(a.Longest, b.Longest), max(a.Sum, b.Sum), a.Scrapes + b.Scrapes}
}

// String returns a sentence for the log.
func (a Apart) String() string {
	ms := func(seconds float64) string { return fmt.Sprintf("%.1f ms", 1000*seconds) }
	return fmt.Sprintf("in %d scrapes, kubeflap and the truth differed by at most %s in a heartbeat's age, %s in a node's longest interval, and %s in the sum of all intervals",
		a.Scrapes, ms(a.Age), ms(a.Longest), ms(a.Sum))
}

// Measure scrapes kubeflap once per period until the context ends. It ignores failed scrapes, because the final
// comparison reports such errors. The result wentBack is the first error from the function WentBack.
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
		m, err := c.takeSample(ctx)
		if err != nil {
			continue
		}
		apart = apart.Join(m.apart())
		if wentBack == nil {
			wentBack = WentBack(last, m.reported)
		}
		last = m.reported
	}
}

// apart returns the differences in one scrape. The exact time at which kubeflap reads its clock is unknown, so a
// difference can be too large by up to the duration of the scrape. It is never too small.
func (m sample) apart() Apart {
	a := Apart{Scrapes: 1}
	for series := range m.reported {
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

func (m sample) still(series string) bool {
	// If the counts differ, the times of kubeflap and the recorder may belong to different heartbeats.
	return m.before[series] == m.reported[series] && m.reported[series] == m.after[series]
}

func (m sample) off(series string) float64 {
	return max(math.Abs(m.reported[series]-m.before[series]), math.Abs(m.reported[series]-m.after[series]))
}
