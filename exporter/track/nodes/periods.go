package nodes

import (
	"cmp"
	"time"
)

// Periods counts the periods in which a node was not Ready. The start-up of a new node, before its first Ready, is none.
type Periods struct {
	Count uint64
	// Time is the total time of the periods.
	Time time.Duration
	// Since is the time of the first count of planned periods. It is zero if there is none.
	Since time.Time
}

// period is the current period in which a node is not Ready. If kubeflap finds it in its first list, it is not counted,
// because kubeflap did not see it begin, but its time is.
type period struct {
	// `counts` is set if there is such a period. `planned` is set if the node's departure was announced before.
	counts, planned bool
}

// periods returns the counts of periods of a class, which count from t.
func (c *Counters) periods(planned bool, t time.Time) *Periods {
	if !planned {
		return &c.Unplanned
	}
	c.Planned.Since = cmp.Or(c.Planned.Since, t)
	return &c.Planned
}

// beginPeriod begins a period at t. The announcement is that of the node's departure, if there was one before.
func (n *node) beginPeriod(t time.Time, announcement string) {
	n.period = period{true, announcement != ""}
	n.periods(n.period.planned, t).Count++
}

// addPeriodTime adds the time from the last change of Ready to t to the counters, if the node is in a period.
func (x *health) addPeriodTime(n *node, to *Counters, t time.Time) {
	if d := x.watches.Counted(n.statusSince, t); n.period.counts && d > 0 {
		to.periods(n.period.planned, x.watches.CountedFrom(n.statusSince)).Time += d
	}
}
