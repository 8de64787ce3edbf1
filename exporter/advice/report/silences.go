package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// lately is for how long the longest interval of a node is known.
	lately = 10 * time.Minute
	// worthAction is for how long a finding asks for a change. What happened before is a note.
	worthAction = 24 * time.Hour
)

// lateNode is a node in a finding.
type lateNode struct {
	Node
	// times is how often that was decided about it, last when the newest silence ended; 0 and zero if an older kubeflap did not say it.
	times uint64
	last  time.Time
	// missed: it missed the grace period.
	missed bool
}

// of sums up the silences of a node with this verdict and one of these reasons, or any reason if there are none.
func (n *Node) of(v verdict.Verdict, reasons ...verdict.Reason) lateNode {
	sum := lateNode{Node: *n}
	for _, s := range n.Silences {
		if s.Verdict != v || s.Count == 0 || len(reasons) > 0 && !slices.Contains(reasons, s.Reason) {
			continue
		}
		sum.times += s.Count
		sum.missed = sum.missed || s.Reason != verdict.Late
		if s.Last.After(sum.last) {
			sum.last = s.Last
		}
	}
	return sum
}

// noteJudged finds out whether a node is slow or was down, by what was decided about its silences.
func (b *heartbeats) noteJudged(n *Node) {
	if down := n.of(verdict.Node, verdict.Down); down.times > 0 {
		b.silent = append(b.silent, down)
	}
	slow := n.of(verdict.Node, verdict.Slow, verdict.Late)
	if slow.missed || slow.times >= often || slow.times > 0 && b.isLately(slow.last) {
		b.slow = append(b.slow, slow)
	}
}

func (b *heartbeats) isLately(t time.Time) bool { return b.now.Sub(t) <= lately }

// missed reports whether a node missed the grace period, whatever was decided about that.
func (b *heartbeats) missed(n *Node) bool {
	return b.grace > 0 && (n.Longest > b.grace || n.Missed > 0)
}

// explained reports whether something else than the node delayed its heartbeats of the last ten minutes: then they do not show a slow kubelet, and no
// grace period should bridge them.
func (b *heartbeats) explained(n *Node) bool {
	if n.Silences == nil {
		return n.otherVerdicts()
	}
	own, short := n.of(verdict.Node, verdict.Slow, verdict.Late), n.of(verdict.GracePeriod)
	return n.Longest > b.slowFrom() && !(own.times > 0 && b.isLately(own.last)) && !(short.times > 0 && b.isLately(short.last))
}

// with are the nodes about which there is a verdict, or was one since kubeflap first saw them; of a verdict that does not say all, only for these reasons.
func (b *heartbeats) with(v verdict.Verdict, reasons ...verdict.Reason) (some []lateNode) {
	for i := range b.nodes {
		n := &b.nodes[i]
		x := n.of(v, reasons...)
		switch {
		case len(reasons) == 0 && slices.Contains(n.Verdicts, v):
			x.last, x.missed = b.now, x.missed || b.missed(n)
		case x.times == 0:
			continue
		}
		some = append(some, x)
	}
	sortSlowest(some)
	return some
}

func sortSlowest(nodes []lateNode) {
	slices.SortFunc(nodes, func(x, y lateNode) int {
		return cmp.Or(cmp.Compare(y.Longest, x.Longest), cmp.Compare(y.Late, x.Late), strings.Compare(x.Name, y.Name))
	})
}

// byAge makes a finding about nodes, and a note about those to which it happened more than a day ago.
func (b *heartbeats) byAge(nodes []lateNode, find func([]lateNode) Recommendation) (all []Recommendation) {
	var fresh, old []lateNode
	for _, n := range nodes {
		if n.Silences != nil && b.now.Sub(n.last) > worthAction {
			old = append(old, n)
		} else {
			fresh = append(fresh, n)
		}
	}
	if len(fresh) > 0 {
		all = append(all, find(fresh))
	}
	if len(old) > 0 {
		x := find(old)
		x.Severity = Note
		all = append(all, x)
	}
	return all
}

// nameSome names the first few nodes. The JSON has all of them.
func (b *heartbeats) nameSome(nodes []lateNode) string {
	const some = 5
	var names []string
	for i, n := range nodes {
		if i == some {
			names = append(names, fmt.Sprintf("and %d more", len(nodes)-some))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", n.Name, b.when(&n)))
	}
	return strings.Join(names, ", ")
}

// when says how late a node was, or when if that is longer ago.
func (b *heartbeats) when(n *lateNode) string {
	switch {
	case n.Longest > b.slowFrom() && (n.Silences == nil || b.isLately(n.last)):
		return brief(n.Longest)
	case n.times == 0:
		return times(n.Late) + ", but not lately"
	case n.times == 1:
		return "at " + moment(n.last)
	}
	return times(n.times) + ", the last one at " + moment(n.last)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
