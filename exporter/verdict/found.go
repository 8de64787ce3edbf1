package verdict

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

const notWatched = "kubeflap was not watching yet"

func (f *NodeLoss) countFound() int {
	return f.countSilences(func(s *Silence) bool { return s.Found.Is })
}

// isDoubtful reports whether it is uncertain that the node failed. The node's departure may have been announced, or the
// node may have recovered already.
func (x *Found) isDoubtful() bool { return x.Perhaps != "" || x.InDoubt }

// inLastHour reports whether a silence began in the last hour.
func (f *NodeLoss) inLastHour(s *Silence) bool { return s.Began.After(f.Now.Add(-time.Hour)) }

// announcementDoubt explains why it is uncertain whether all departures were announced. The text is empty if the answer
// is certain.
func (f *NodeLoss) announcementDoubt() string {
	n := f.countSilences(func(s *Silence) bool { return s.Found.Perhaps != "" || s.Announced != "" })
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

// othersSent describes the heartbeats of the nodes that are not part of the incident. For the time before kubeflap
// started, it is known only when the Ready conditions of these nodes last changed.
func (f *NodeLoss) othersSent(others int) string {
	text := "the other " + phrase.Count(others, "node", "nodes")
	if f.countFound() > 0 {
		return text + " are sending heartbeats, and none of them turned Ready soon after the silence began"
	}
	return text + " sent their heartbeats on time"
}

// maybeShared describes other nodes that may have fallen silent at the same time, unseen by kubeflap. The text is empty
// if there are none.
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

// backUnseen returns the name of a node that was lost and recovered while kubeflap's own watch was broken. That node
// and the node of s may have fallen silent together. The name is empty if there is no such node.
func (f *NodeLoss) backUnseen(s *Silence) string {
	for _, o := range f.Recent {
		if s.Relisted && o.Blind && o.Node != s.Node && o.Ended.Equal(o.Began) && o.Began.After(s.Began) {
			return o.Node
		}
	}
	return ""
}

// markedWith returns the name of a node that turned Unknown together with the node of s, before kubeflap started. The
// start times of their silences differ, but the nodes' own clocks may be wrong. The name is empty if there is no such
// node.
func (f *NodeLoss) markedWith(s *Silence) string {
	if s.Found.Marked.IsZero() {
		return ""
	}
	for _, o := range f.Recent {
		if o.Node != s.Node && !o.Found.Marked.IsZero() && o.Found.Marked.Sub(s.Found.Marked).Abs() <= f.Interval+monitorPeriod && o.Began.Sub(s.Began).Abs() > f.Interval {
			return o.Node
		}
	}
	return ""
}

// monitorPeriod is the default period at which the node controller checks the nodes (--node-monitor-period).
const monitorPeriod = 5 * time.Second
