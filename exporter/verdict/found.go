package verdict

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// notWatched is why something about a silence is not known.
const notWatched = "kubeflap did not watch yet"

// found is how many silences began before kubeflap watched.
func (f *NodeLoss) found() int { return f.each(func(s *Silence) bool { return s.Found.Is }) }

// isDoubtful reports whether it is not known that the node failed: its departure may have been announced, or it may have been back.
func (x *Found) isDoubtful() bool { return x.Perhaps != "" || x.InDoubt }

// inLastHour reports whether a silence began in the last hour.
func (f *NodeLoss) inLastHour(s *Silence) bool { return s.Began.After(f.Now.Add(-time.Hour)) }

// perhaps says that all departures may have been announced; empty if not.
func (f *NodeLoss) perhaps() string {
	n := f.each(func(s *Silence) bool { return s.Found.Perhaps != "" || s.Announced != "" })
	if n == 0 || n < len(f.Silences) {
		return ""
	}
	for _, s := range f.Silences {
		if s.Found.Perhaps != "" {
			return nodesText(f.Silences) + " had " + s.Found.Perhaps + " when kubeflap started: whether before the silence is not known"
		}
	}
	return ""
}

// othersSent says how nodes fared that are not in the incident. Of the time before it watched, kubeflap only knows when they turned Ready.
func (f *NodeLoss) othersSent(others int) string {
	text := "the other " + phrase.Count(others, "node", "nodes")
	if f.found() > 0 {
		return text + " send their heartbeats, and none of them turned Ready soon after it fell silent"
	}
	return text + " sent their heartbeats in time"
}

// maybeShared says that nodes whose silence began before kubeflap watched may have been lost with others that are back, or at another time than their own
// clocks say; empty if not.
func (f *NodeLoss) maybeShared() string {
	for _, s := range f.Silences {
		if other := f.backUnseen(s); other != "" {
			return other + " turned Unknown and back while kubeflap's own watch was broken: whether it was lost together with " + s.Node + " is not known"
		}
		switch other := f.markedWith(s); {
		case s.Found.Returned > 0:
			return fmt.Sprintf("%s turned Ready after %s fell silent: whether they were lost together is not known, as "+notWatched,
				phrase.Count(s.Found.Returned, "other node", "other nodes"), s.Node)
		case other != "":
			return s.Node + " and " + other + " turned Unknown together, but by their own clocks they fell silent at other times: whether together is not known, as " + notWatched
		}
	}
	return ""
}

// backUnseen names a node that was lost and came back while kubeflap's own watch was broken, if the silence of another node began
// at that time. It is empty if there is no such node.
func (f *NodeLoss) backUnseen(s *Silence) string {
	for _, o := range f.Others {
		if s.Relisted && o.Blind && o.Node != s.Node && o.Ended.Equal(o.Began) && o.Began.After(s.Began) {
			return o.Node
		}
	}
	return ""
}

// markedWith is a node that turned Unknown with another before kubeflap watched, and that fell silent at another time by its own clock; empty if there
// is none. The node controller looks at all nodes every 5 s, by one clock.
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

// monitorPeriod is how often the node controller looks at the nodes (--node-monitor-period).
const monitorPeriod = 5 * time.Second
