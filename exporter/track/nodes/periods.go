package nodes

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Periods counts the periods in which a node was not Ready. The start-up of a new node, before its first Ready, is none.
type Periods struct {
	Count uint64
	// Time is the total time of the periods.
	Time time.Duration
}

// PlannedPeriods counts periods that began after the node's departure had been announced.
type PlannedPeriods struct {
	Periods
	// Since is the time of the first count. It is zero if there is none.
	Since time.Time
}

// period is the current period in which a node is not Ready.
type period struct {
	// `counts` is set if there is such a period. `planned` is set if the node's departure was announced before.
	counts, planned bool
}

// beginPeriod begins a period at t. The announcement is that of the node's departure, if there was one before.
func (n *node) beginPeriod(t time.Time, announcement string) {
	n.period = period{true, announcement != ""}
	n.periods(t).Count++
}

// addPeriodTime adds the time from the last change of Ready to t, if the node is in a period.
func (x *health) addPeriodTime(n *node, t time.Time) {
	if !n.period.counts {
		return
	}
	if d := x.watches.Counted(n.statusSince, t); d > 0 {
		n.periods(x.watches.CountedFrom(n.statusSince)).Time += d
	}
}

// periods returns the counts of periods of the current period's class. They exist from t.
func (n *node) periods(t time.Time) *Periods {
	if !n.period.planned {
		return &n.Unplanned
	}
	if n.planned == nil {
		n.planned = &PlannedPeriods{Since: t}
	}
	return &n.planned.Periods
}

// readPeriods returns the counts as of t, including the current period.
func (x *health) readPeriods(n *node, t time.Time) (unplanned Periods, planned PlannedPeriods) {
	unplanned = n.Unplanned
	if n.planned != nil {
		planned = *n.planned
	}
	if !n.period.counts {
		return unplanned, planned
	}
	current := x.watches.Counted(n.statusSince, t)
	if n.period.planned {
		planned.Time, planned.Since = planned.Time+current, cmp.Or(planned.Since, x.watches.CountedFrom(n.statusSince))
	} else {
		unplanned.Time += current
	}
	return unplanned, planned
}

// foundPeriod returns the period of a node that kubeflap first sees in an event. In its first list, kubeflap finds nodes
// that are not Ready. Their periods are not counted, because kubeflap did not see them begin, but their time is.
func foundPeriod(first bool, ready *event.Condition, announcement string) period {
	if !first || ready == nil || ready.Status == event.StatusTrue || ready.Reason == reasonNeverUpdated {
		return period{}
	}
	return period{true, announcement != ""}
}
