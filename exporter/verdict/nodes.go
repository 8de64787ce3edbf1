package verdict

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
	"github.com/kubeflap/kubeflap/exporter/verdict/upgrades"
)

// Silence is a node that was lost: the time between two of its heartbeats, or a mark of the node controller.
type Silence struct {
	Node string
	// Began is the last heartbeat before it, Ended the first one after it; zero while it lasts. Both are by kubeflap's clock.
	Began, Ended time.Time
	// Announced is what announced the departure of the node before the heartbeat after Began was due, empty if nothing did. AnnouncedAfter: after Began.
	Announced      string
	AnnouncedAfter bool
	// Rebooted: the node reported another bootID after Began. Upgraded: another kubeletVersion.
	Rebooted, Upgraded bool
	// Deleted is when the Node was deleted, at the earliest; zero if it was not.
	Deleted time.Time
	// Again describes the machine of a later Node with the same name; zero if there is no such Node.
	Again transition.Machine
	// Marked: the node controller set Ready to Unknown. MarkedAge is the age of the newest heartbeat that the controller must have seen
	// by then, 0 if that is not known.
	Marked    bool
	MarkedAge time.Duration
	// MarkedInTime: MarkedAge is younger than the grace period that was in force.
	MarkedInTime bool
	// NotMarked: the node was silent for longer than the grace period and the node controller's own delay, and still Ready, while the API server answered.
	// NotMarkedCertain: nothing else explains that, such as a change of the leader that cannot be seen.
	NotMarked, NotMarkedCertain bool
	// Blind: kubeflap's own watch was broken meanwhile, so the node may have sent heartbeats, or others may have been silent as well. BeganBlind: the silence is
	// proven, but it began while the watch was broken, and Began is when the watch worked again. EndedBlind: the watch was broken
	// when it may have ended.
	Blind, BeganBlind, EndedBlind bool
	// Relisted: the silence began while kubeflap's own watch was broken. The list after that has shown the last renewal, so Began is by the node's own clock.
	Relisted bool
	// Read: a direct read of Leases has shown that there was no heartbeat for the whole grace period.
	Read bool
	// Unseen: kubeflap saw only status reports, which may be 5 min apart. So Began is when the node was marked.
	Unseen bool
	// ClockBack is how far the node's clock was set back, 0 if it was not: it sends heartbeats that do not count.
	ClockBack time.Duration
	// NotReady: the node's own kubelet reported not ready, and no heartbeat was late.
	NotReady bool
	// Labels say what the node shares with others; nil if they are not known.
	Labels []transition.NodeLabel
	// Judgement is the decision about the silence; nil while there is none.
	Judgement *Judgement
	// Found is what the first lists have shown, if the silence began before kubeflap watched. Then Began is by the node's own clock.
	Found Found
}

// Found is what the first lists have shown of a silence. The zero value is a silence whose beginning kubeflap saw.
type Found struct {
	// Is: the silence began before kubeflap watched.
	Is bool
	// InDoubt: the last heartbeat is too young for the mark. The node was back, or the mark was an error, or the clocks differ.
	InDoubt bool
	// Marked is when the node controller had set Ready to Unknown, by its clock; zero if it had not.
	Marked time.Time
	// Perhaps is what may have announced the departure of the node, before the silence or after it began; empty if nothing did.
	Perhaps string
	// Returned is how many other nodes had turned Ready soon after it began.
	Returned int
}

// NodeLoss are the facts of an incident of nodes.
type NodeLoss struct {
	// Silences are those of the incident, by Began. Others are the unexplained silences of all nodes that began in the hour before, or last, these included.
	Silences, Others []*Silence
	// Late are the nodes that are silent for more than half of the grace period, but not yet for all of it.
	Late []*Silence
	// Within are the unexplained silences that began between two times and were longer than half of the grace period, but ended within it; nil if there
	// are none.
	Within func(from, to time.Time) []*Silence
	// Now is the time of the question.
	Now time.Time
	// Nodes is the number of nodes of the cluster.
	Nodes int
	// GracePeriod is 0 while it is not known. Interval is the longest undisturbed heartbeat interval.
	GracePeriod, Interval time.Duration
	// ControlPlane is what its Leases and direct reads have shown.
	ControlPlane ControlPlane
	// Break is when kubeflap's own watch of Leases was broken last.
	Break Break
	// Upgrades are those of the kubelets; nil if there were none.
	Upgrades *upgrades.Upgrades
	// Rate is how often single nodes fall silent in this cluster.
	Rate chance.Rate

	// group is the result of together, if grouped.
	group   []*Silence
	grouped bool
	// sorted are Others by when they began. near is what was last found among them for a single silence.
	sorted []*Silence
	near   near
	// single is how often each node fell silent by itself.
	single single
	// shared is the answer of sharedPath; nil if that was not weighed yet.
	shared *considered
	// turn is whether node after node falls silent, which is the same for all incidents; nil if that was not weighed yet.
	turn *turn
}

// considered is the answer of a hypothesis, with its text.
type considered struct {
	holds   Answer
	because func() string
}

// turn is the answer to whether nodes fall silent one after the other, and the silences that do.
type turn struct {
	holds    Answer
	because  string
	silences []*Silence
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
	f.grouped, f.shared = false, nil // the silences may be others
	var all []Considered
	for _, h := range nodeHypotheses {
		holds, because := h.weigh(f)
		all = append(all, Considered{h.verdict, holds, because})
	}
	d := decide(all)
	d.Etcd = d.Verdict == SharedPath && f.ControlPlane.allStopped(f.began())
	if d.Verdict == Undecided && f.perhaps() != "" {
		d.Command = "kubectl get node " + f.Silences[0].Node + " -o yaml --show-managed-fields shows when somebody cordoned or tainted it"
		return d
	}
	if d.Verdict == Undecided && f.unseen() > 0 {
		d.Command = "kubectl -n kube-node-lease get leases shows when each node last renewed; kubeflap needs get, list and watch on them"
		return d
	}
	if i := slices.IndexFunc(f.Silences, func(s *Silence) bool { return s.Again == transition.MachineUnclear }); d.Verdict == Undecided && i >= 0 {
		d.Command = "journalctl --list-boots on " + f.Silences[i].Node + ": a boot from before the silence shows that it is the same machine"
		return d
	}
	if d.Verdict == Undecided && len(f.Silences) > 0 {
		d.Command = "kubectl get events -A --field-selector involvedObject.kind=Node; journalctl -u kubelet --since '" +
			f.Silences[0].Began.UTC().Format(time.DateTime) + " UTC' on " + nodesText(f.Silences)
	}
	return d
}

// Withdrawn is the decision about an incident that did not happen.
func Withdrawn(because string) (d Decision) {
	for _, h := range nodeHypotheses {
		d.Considered = append(d.Considered, Considered{h.verdict, No, because})
	}
	return d
}

// blind is how many silences contain time in which kubeflap's own watch was broken. blindText says what that means.
func (f *NodeLoss) blind() int {
	return f.each(func(s *Silence) bool { return s.Blind || s.Found.InDoubt })
}

func (f *NodeLoss) blindText() string {
	if f.each(func(s *Silence) bool { return s.Found.InDoubt }) > 0 {
		return "the last heartbeat is too young for the mark of the node controller: the node was back, the mark was an error, or the clocks differ; " + notWatched
	}
	return "kubeflap's own watch was broken meanwhile: that proves nothing"
}

// unseen is how many silences could not be seen. unseenText says why.
func (f *NodeLoss) unseen() int { return f.each(func(s *Silence) bool { return s.Unseen }) }

const unseenText = "kubeflap sees no Leases, only status reports that may be 5 min apart: what happened between them is not known"

// each reports how many silences match.
func (f *NodeLoss) each(match func(*Silence) bool) int {
	n := 0
	for _, s := range f.Silences {
		if match(s) {
			n++
		}
	}
	return n
}

// nodesText names the nodes of some silences.
func nodesText(all []*Silence) string { return phrase.Some(nodesOf(all)) }

// nodesOf are the names of the nodes that fell silent, each once.
func nodesOf(all []*Silence) (names []string) {
	for _, s := range ofEachNode(all) {
		names = append(names, s.Node)
	}
	return names
}
