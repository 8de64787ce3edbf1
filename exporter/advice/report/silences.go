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
	// lately is the period for which kubeflap's metrics show the longest heartbeat interval of a node.
	lately = 10 * time.Minute
	// If the newest silence of a node is older than worthAction, the node only gets a note.
	worthAction = 24 * time.Hour
)

// lateNode is a node in a recommendation.
type lateNode struct {
	Node
	// The field times is the number of silences. The field last is the end of the newest silence, or the time of the
	// newest event if the node has a current verdict.
	times uint64
	last  time.Time
	// missed is set if a heartbeat interval of the node exceeded the grace period.
	missed bool
}

// sumSilences adds up the node's silences with the verdict v. If reasons are given, it ignores silences with other
// reasons.
func (n *Node) sumSilences(v verdict.Verdict, reasons ...verdict.Reason) lateNode {
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

// noteNode decides from the verdicts on a node's silences whether the node is slow or was down.
func (b *heartbeats) noteNode(n *Node) {
	if down := n.sumSilences(verdict.Node, verdict.Down); down.times > 0 {
		b.silent = append(b.silent, down)
	}
	slow := n.sumSilences(verdict.Node, verdict.Slow, verdict.Late)
	if slow.missed || slow.times >= often || slow.times > 0 && b.isLately(slow.last) {
		b.slow = append(b.slow, slow)
	}
}

func (b *heartbeats) isLately(t time.Time) bool { return b.now.Sub(t) <= lately }

// missed reports whether a heartbeat interval of the node exceeded the grace period, regardless of the verdict.
func (b *heartbeats) missed(n *Node) bool {
	return b.grace > 0 && (n.Longest > b.grace || n.Missed > 0)
}

// explained reports whether something other than the node delayed its heartbeats in the last ten minutes. Such delays
// are no reason for a longer grace period.
func (b *heartbeats) explained(n *Node) bool {
	own, short := n.sumSilences(verdict.Node, verdict.Slow, verdict.Late), n.sumSilences(verdict.GracePeriod)
	return n.Longest > b.slowFrom() && !(own.times > 0 && b.isLately(own.last)) && !(short.times > 0 && b.isLately(short.last))
}

// nodesWith returns the nodes with a current or past verdict v. If reasons are given, it ignores silences with other
// reasons.
func (b *heartbeats) nodesWith(v verdict.Verdict, reasons ...verdict.Reason) (some []lateNode) {
	for i := range b.nodes {
		n := &b.nodes[i]
		x := n.sumSilences(v, reasons...)
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

// byAge returns the recommendation that the function find creates for the nodes. Nodes whose newest silence is older
// than worthAction get a separate note.
func (b *heartbeats) byAge(nodes []lateNode, find func([]lateNode) Recommendation) (all []Recommendation) {
	var fresh, old []lateNode
	for _, n := range nodes {
		if b.now.Sub(n.last) > worthAction {
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

// nameSome names the first few nodes. The JSON lists all of them.
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

func (b *heartbeats) when(n *lateNode) string {
	switch {
	case n.Longest > b.slowFrom() && b.isLately(n.last):
		return brief(n.Longest)
	case n.times == 0:
		return times(n.Late) + ", but not recently"
	case n.times == 1:
		return "at " + moment(n.last)
	}
	return times(n.times) + ", most recently at " + moment(n.last)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
