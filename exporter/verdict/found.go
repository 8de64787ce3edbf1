package verdict

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// notWatched is the reason why facts from before kubeflap's start are unknown.
const notWatched = "kubeflap was not watching yet"

// found returns the number of silences that began before kubeflap started watching.
func (f *NodeLoss) found() int { return f.each(func(s *Silence) bool { return s.Found.Is }) }

// isDoubtful reports whether the failure of the node is uncertain: its departure may have been announced, or the node
// may have returned already.
func (x *Found) isDoubtful() bool { return x.Perhaps != "" || x.InDoubt }

// inLastHour reports whether a silence began in the last hour.
func (f *NodeLoss) inLastHour(s *Silence) bool { return s.Began.After(f.Now.Add(-time.Hour)) }

// perhaps returns a text that explains why each departure may have been announced. The text is empty if at least one
// departure was certainly not announced, or if all were certainly announced.
func (f *NodeLoss) perhaps() string {
	n := f.each(func(s *Silence) bool { return s.Found.Perhaps != "" || s.Announced != "" })
	if n == 0 || n < len(f.Silences) {
		return ""
	}
	for _, s := range f.Silences {
		if s.Found.Perhaps != "" {
			return nodesText(f.Silences) + " had " + s.Found.Perhaps + " when kubeflap started, but it is unknown whether that was before the silence"
		}
	}
	return ""
}

// othersSent describes the nodes outside of the incident. For the time before kubeflap started watching, only the last
// changes of their Ready conditions are known.
func (f *NodeLoss) othersSent(others int) string {
	text := "the other " + phrase.Count(others, "node", "nodes")
	if f.found() > 0 {
		return text + " are sending heartbeats, and none of them turned Ready soon after the silence began"
	}
	return text + " sent their heartbeats on time"
}

// maybeShared explains why a silence whose start kubeflap did not see may have a shared cause. Other nodes may have
// been lost at the same time and returned, or the nodes' own clocks may be wrong. The text is empty if neither applies.
func (f *NodeLoss) maybeShared() string {
	for _, s := range f.Silences {
		if other := f.backUnseen(s); other != "" {
			return other + " turned Unknown and then Ready again while kubeflap's own watch was broken, so it is unknown whether " + other + " and " + s.Node + " were lost together"
		}
		switch other := f.markedWith(s); {
		case s.Found.Returned > 0:
			return fmt.Sprintf("%s turned Ready after %s fell silent, but it is unknown whether all these nodes were lost together, because "+notWatched,
				phrase.Count(s.Found.Returned, "other node", "other nodes"), s.Node)
		case other != "":
			return s.Node + " and " + other + " turned Unknown together, but according to their own clocks, they fell silent at different times. It is unknown whether they were lost together, because " + notWatched
		}
	}
	return ""
}

// backUnseen returns another node that was lost and returned during a break of kubeflap's own watch, if the silence s
// may have begun in the same break. Otherwise it returns an empty string.
func (f *NodeLoss) backUnseen(s *Silence) string {
	for _, o := range f.Others {
		if s.Relisted && o.Blind && o.Node != s.Node && o.Ended.Equal(o.Began) && o.Began.After(s.Began) {
			return o.Node
		}
	}
	return ""
}

// markedWith returns another node that turned Unknown together with the node of the silence s, before kubeflap started
// watching. By the nodes' own clocks, their last heartbeats were at different times. But the node controller checks all
// nodes every 5 s by a single clock. markedWith returns an empty string if there is no such node.
func (f *NodeLoss) markedWith(s *Silence) string {
	if s.Found.Marked.IsZero() {
		return ""
	}
	for _, o := range f.Others {
		if o.Node != s.Node && !o.Found.Marked.IsZero() && o.Found.Marked.Sub(s.Found.Marked).Abs() <= f.Interval+monitorPeriod && o.Began.Sub(s.Began).Abs() > f.Interval {
			return o.Node
		}
	}
	return ""
}

// monitorPeriod is the default period at which the node controller checks the nodes (--node-monitor-period).
const monitorPeriod = 5 * time.Second
