package nodes

import (
	"testing"
	"time"
)

func TestIntervalOfANodeFollowsItsLeaseAndRegularReports(t *testing.T) {
	const s = time.Second
	cases := []struct {
		name     string
		duration int32
		reports  []time.Duration
		want     time.Duration
	}{
		{"a Lease of 40 s", 40, nil, 10 * s},
		{"a Lease of 20 s", 20, nil, 5 * s},
		{"a Lease of 80 s", 80, nil, 20 * s},
		{"a Lease without a duration", 0, nil, 10 * s},
		{"a Lease that claims too much", 1 << 30, nil, time.Minute},
		{"status reports every 4 s", 40, []time.Duration{4 * s, 4 * s, 5 * s, 4 * s, 4 * s}, 4 * s},
		{"of which one is late", 40, []time.Duration{4 * s, 4 * s, 4 * s, 4 * s, 4 * s, 30 * s, 4 * s}, 4 * s},
		{"of which each second is written twice", 40, []time.Duration{4 * s, 0, 4 * s, 0, 4 * s, 0, 4 * s}, 4 * s},
		{"status reports when something changes", 40, []time.Duration{2 * s, 9 * s, 5 * s, 14 * s, 3 * s, 7 * s, 2 * s, 11 * s}, 10 * s},
		{"status reports every 5 minutes", 40, []time.Duration{300 * s, 300 * s, 300 * s, 300 * s, 300 * s}, 10 * s},
		{"a clock that is set back", 40, []time.Duration{4 * s, 4 * s, -3600 * s, 4 * s, 4 * s}, 4 * s},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := rhythms{leaseSeconds: c.duration}
			for _, d := range c.reports {
				r.reports.learn(d)
			}
			if got := r.interval(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
