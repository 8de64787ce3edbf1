package verdict

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Silence is a node that was lost: the time between two of its heartbeats, or a mark of the node controller.
type Silence struct {
	Node string
	// Began is the last heartbeat before it, Ended the first one after it; zero while it lasts. Both are by kubeflap's clock.
	Began, Ended time.Time
	// Announced is what announced the departure of the node before Began, empty if nothing did.
	Announced string
	// Rebooted: the node reported another bootID after Began. Deleted: the Node was deleted.
	Rebooted, Deleted bool
	// Marked: the node controller set Ready to Unknown. MarkedAge is the age of the newest heartbeat that the controller must have seen
	// by then, 0 if that is not known.
	Marked    bool
	MarkedAge time.Duration
	// MarkedInTime: MarkedAge is younger than the grace period that was in force.
	MarkedInTime bool
	// NotReady: the node's own kubelet reported not ready, and no heartbeat was late.
	NotReady bool
	// Labels say what the node shares with others; nil if they are not known.
	Labels []transition.NodeLabel
}

// NodeLoss are the facts of an incident of nodes.
type NodeLoss struct {
	// Silences are those of the incident, by Began. Others are the unexplained silences of all nodes in the hour before, these included.
	Silences, Others []Silence
	// Nodes is the number of nodes of the cluster.
	Nodes int
	// GracePeriod is 0 while it is not known. Interval is the longest undisturbed heartbeat interval.
	GracePeriod, Interval time.Duration
	// Rate is how often single nodes fall silent in this cluster.
	Rate Rate
	// Blind: kubeflap's own watch of Leases was broken meanwhile.
	Blind bool
}

// nodeHypothesis is one explanation of an incident of nodes.
type nodeHypothesis struct {
	verdict Verdict
	weigh   func(*NodeLoss) (Answer, string)
}

// nodeHypotheses are in the order of their precedence.
var nodeHypotheses = []nodeHypothesis{
	{Planned, planned},
	{NodeRebooted, rebooted},
	{GracePeriod, gracePeriod},
	{ControllerManager, controllerManager},
	{SharedPath, sharedPath},
	{Node, oneNode},
}

// OfNodes decides about an incident of nodes.
func OfNodes(f *NodeLoss) Decision {
	var all []Considered
	for _, h := range nodeHypotheses {
		holds, because := h.weigh(f)
		all = append(all, Considered{h.verdict, holds, because})
	}
	d := decide(all)
	if d.Verdict == Undecided && len(f.Silences) > 0 {
		d.Command = "kubectl get events -A --field-selector involvedObject.kind=Node; journalctl -u kubelet --since '" +
			f.Silences[0].Began.UTC().Format(time.DateTime) + " UTC' on " + nodesText(f.Silences)
	}
	return d
}

// each reports how many silences match.
func (f *NodeLoss) each(match func(*Silence) bool) int {
	n := 0
	for i := range f.Silences {
		if match(&f.Silences[i]) {
			n++
		}
	}
	return n
}

func planned(f *NodeLoss) (Answer, string) {
	n := f.each(func(s *Silence) bool { return s.Announced != "" })
	switch {
	case n == 0:
		return No, "nothing announced the departure of " + nodesText(f.Silences)
	case n < len(f.Silences):
		return No, fmt.Sprintf("only %d of %d departures were announced", n, len(f.Silences))
	}
	return Yes, fmt.Sprintf("%s: announced by %s before the silence", nodesText(f.Silences), f.Silences[0].Announced)
}

func rebooted(f *NodeLoss) (Answer, string) {
	n := f.each(func(s *Silence) bool { return s.Rebooted })
	away := f.each(func(s *Silence) bool { return s.Ended.IsZero() && !s.NotReady })
	switch {
	case len(f.Silences) > 0 && n == len(f.Silences):
		return Yes, nodesText(f.Silences) + " reported another bootID after the silence"
	case away > 0:
		return Unknown, "the bootID shows when the node is back"
	case n > 0:
		return No, fmt.Sprintf("only %d of %d nodes reported another bootID", n, len(f.Silences))
	}
	return No, "the bootID is the same as before"
}

// gracePeriod: kubelets that are on time miss it.
func gracePeriod(f *NodeLoss) (Answer, string) {
	switch {
	case f.GracePeriod == 0:
		return Unknown, "the grace period is not known"
	case f.GracePeriod > f.Interval:
		return No, fmt.Sprintf("the grace period of %s is longer than an undisturbed heartbeat interval (%s)", phrase.Duration(f.GracePeriod), phrase.Duration(f.Interval))
	}
	late := f.each(func(s *Silence) bool { return s.Ended.IsZero() || s.Ended.Sub(s.Began) > f.Interval })
	if late > 0 {
		return No, fmt.Sprintf("%s sent no heartbeat for longer than an undisturbed interval", phrase.Count(late, "node", "nodes"))
	}
	return Yes, fmt.Sprintf("the heartbeats were on time, and the grace period of %s is not longer than their interval", phrase.Duration(f.GracePeriod))
}

// controllerManager: the node controller marked a node although it must have seen a recent heartbeat.
func controllerManager(f *NodeLoss) (Answer, string) {
	marked, unknown := 0, 0
	for i := range f.Silences {
		switch s := &f.Silences[i]; {
		case !s.Marked:
		case s.MarkedAge == 0:
			unknown++
		case s.MarkedInTime:
			marked++
		}
	}
	switch {
	case marked > 0:
		return Yes, fmt.Sprintf("the node controller marked %s although the newest heartbeat was younger than the grace period", phrase.Count(marked, "node", "nodes"))
	case unknown > 0:
		return Unknown, "the age of the newest heartbeat at the mark is not known"
	}
	return No, "the node controller marked no node whose heartbeat was in time"
}

// endTogether is how close the ends of silences with one cause are.
const endTogether = 20 * time.Second

// Together are the silences that have one cause: they began within an interval, and chance is excluded.
func Together(f *NodeLoss) []Silence {
	if holds, _ := sharedPath(f); holds != Yes {
		return nil
	}
	return f.together()
}

// InTurn reports whether node after node falls silent, more often than chance allows.
func InTurn(f *NodeLoss) bool {
	holds, _ := inTurn(f)
	return holds == Yes
}

func sharedPath(f *NodeLoss) (Answer, string) {
	holds, because := atOnce(f)
	if holds == Yes {
		return holds, because
	}
	if inTurn, why := inTurn(f); inTurn == Yes {
		return inTurn, why
	}
	return holds, because
}

// atOnce: several nodes fall silent within one interval.
func atOnce(f *NodeLoss) (Answer, string) {
	silent := f.together()
	if len(silent) < 2 {
		return No, fmt.Sprintf("no other node fell silent within %s", phrase.Duration(f.Interval))
	}
	chance := f.Rate.chanceTogether(len(silent), f.Nodes, f.Interval)
	ended, apart := endsOf(silent)
	text := fmt.Sprintf("%d of %d nodes fell silent within %s", len(silent), f.Nodes, phrase.Duration(silent[len(silent)-1].Began.Sub(silent[0].Began)))
	if ended && apart <= endTogether {
		chance *= chanceOfEnd(len(silent), endTogether)
		text += fmt.Sprintf(" and came back within %s", phrase.Duration(apart))
	}
	switch {
	case !ended && len(silent) == 2:
		return Unknown, text + ": their return, or a third node, will tell"
	case ended && len(silent) == 2 && apart > endTogether:
		return No, text + fmt.Sprintf(", but came back %s apart", phrase.Duration(apart))
	case chance < acceptedChance:
		return Yes, text + ": independent failures look like this less than once in 1,000 times" + commonText(silent, f.Nodes)
	case ended && apart > endTogether:
		return No, text + fmt.Sprintf(", but came back %s apart", phrase.Duration(apart))
	}
	return Unknown, text + ": that can be chance"
}

// inTurn: node after node falls silent, more often than chance allows.
func inTurn(f *NodeLoss) (Answer, string) {
	counts := map[string]int{}
	most := 0
	total := 0
	for _, s := range f.Others {
		if f.disturbed(s) {
			total++
			counts[s.Node]++
			most = max(most, counts[s.Node])
		}
	}
	share := float64(total) / float64(max(len(counts), 1))
	if len(counts) < 4 || float64(most) > 2*share || f.Rate.chanceInTurn(total, f.Nodes, time.Hour) >= acceptedChance {
		return No, ""
	}
	return Yes, fmt.Sprintf("%d nodes fell silent one after the other within an hour, %d times in all: more often than chance allows", len(counts), total)
}

// together is the largest group of silences that began within an interval, one of which belongs to the incident.
func (f *NodeLoss) together() []Silence {
	var near []Silence
	for _, s := range f.Silences {
		if f.disturbed(s) {
			near = append(near, s)
		}
	}
	for _, s := range f.Others {
		isNear := func(x Silence) bool { return s.Node != x.Node && s.Began.Sub(x.Began).Abs() <= f.Interval }
		if f.disturbed(s) && slices.ContainsFunc(f.Silences, isNear) {
			near = append(near, s)
		}
	}
	return together(near, f.Interval)
}

// disturbed reports whether a silence lasts longer than an undisturbed interval. Shorter ones only miss a short grace period.
func (f *NodeLoss) disturbed(s Silence) bool {
	return s.Ended.IsZero() || s.Ended.Sub(s.Began) > f.Interval
}

// together is the largest group of silences of different nodes that began within an interval.
func together(all []Silence, interval time.Duration) (most []Silence) {
	sorted := slices.SortedFunc(slices.Values(all), func(a, b Silence) int { return a.Began.Compare(b.Began) })
	for i := range sorted {
		var group []Silence
		for _, s := range sorted[i:] {
			if s.Began.Sub(sorted[i].Began) > interval {
				break
			}
			if !slices.ContainsFunc(group, func(x Silence) bool { return x.Node == s.Node }) {
				group = append(group, s)
			}
		}
		if len(group) > len(most) {
			most = group
		}
		if len(sorted)-i <= len(most) {
			break
		}
	}
	return most
}

// commonText says what silent nodes have in common, and the others do not.
func commonText(silent []Silence, nodes int) string {
	var best *transition.NodeLabel
	for i := range silent[0].Labels {
		l := &silent[0].Labels[i]
		for _, s := range silent[1:] {
			if !slices.ContainsFunc(s.Labels, func(x transition.NodeLabel) bool { return x.Key == l.Key && x.Value == l.Value }) {
				l = nil
				break
			}
		}
		if l != nil && l.Nodes < nodes && (best == nil || l.Nodes < best.Nodes) {
			best = l
		}
	}
	switch {
	case best != nil && best.Nodes == len(silent):
		return fmt.Sprintf("; they are the only nodes with %s=%s", best.Key, best.Value)
	case best != nil:
		return fmt.Sprintf("; all have %s=%s, as %d nodes do", best.Key, best.Value, best.Nodes)
	case silent[0].Labels != nil:
		return "; no label distinguishes them from the others"
	}
	return ""
}

// endsOf reports whether all silences have ended, and how far apart.
func endsOf(all []Silence) (ended bool, apart time.Duration) {
	first, last := all[0].Ended, all[0].Ended
	for _, s := range all {
		if s.Ended.IsZero() {
			return false, 0
		}
		if s.Ended.Before(first) {
			first = s.Ended
		}
		if s.Ended.After(last) {
			last = s.Ended
		}
	}
	return true, last.Sub(first)
}

// oneNode: only this node, and nothing that others share.
func oneNode(f *NodeLoss) (Answer, string) {
	if f.Blind {
		return Unknown, "kubeflap's own watch was broken meanwhile"
	}
	if len(f.Silences) == 0 {
		return Yes, "its kubelet reported not ready, or restarted"
	}
	if len(f.together()) > 1 {
		switch holds, _ := sharedPath(f); holds {
		case Yes:
			return No, "several nodes fell silent together"
		case Unknown:
			return Unknown, "several nodes fell silent together, which can be chance"
		}
	}
	if f.each(func(s *Silence) bool { return s.Deleted && s.Ended.IsZero() }) > 0 {
		return Unknown, "the machine is gone: reclaimed, or failed and replaced"
	}
	if f.each(func(s *Silence) bool { return f.disturbed(*s) }) == 0 {
		return No, "no heartbeat was late"
	}
	return Yes, fmt.Sprintf("the other %s sent their heartbeats in time", phrase.Count(f.Nodes-len(nodesOf(f.Silences)), "node", "nodes"))
}

// nodesText names the nodes of some silences.
func nodesText(all []Silence) string { return phrase.Some(nodesOf(all)) }

// nodesOf are the names of the nodes that fell silent, each once.
func nodesOf(all []Silence) (names []string) {
	for _, s := range all {
		if !slices.Contains(names, s.Node) {
			names = append(names, s.Node)
		}
	}
	return names
}
