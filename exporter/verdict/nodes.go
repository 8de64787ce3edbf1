package verdict

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict/chance"
	"github.com/kubeflap/kubeflap/exporter/verdict/upgrades"
)

// Silence is the loss of a node: heartbeats are missing, or the node controller set Ready to Unknown.
type Silence struct {
	Node string
	// Began is the time of the last heartbeat before the silence. Ended is the time of the first heartbeat after the
	// silence, or zero if the silence is ongoing. Both are measured by kubeflap's clock.
	Began, Ended time.Time
	// Announced describes how the node's departure was announced before the first missing heartbeat was due. It is
	// empty without such an announcement. AnnouncedAfter reports whether the announcement came after Began.
	Announced      string
	AnnouncedAfter bool
	// Rebooted reports whether the node's bootID changed after Began. Upgraded reports whether its kubeletVersion
	// changed.
	Rebooted, Upgraded bool
	// Deleted is the earliest possible time of the Node's deletion. It is zero if the Node was not deleted.
	Deleted time.Time
	// Again says whether a new Node with the same name runs on the same machine. It is zero if there is no new Node.
	Again transition.Machine
	// Marked reports whether the node controller set Ready to Unknown. MarkedAge is the age of the newest heartbeat at
	// that time, or 0 if unknown. MarkedAge ignores heartbeats that the controller may not have seen yet.
	Marked    bool
	MarkedAge time.Duration
	// MarkedInTime reports whether MarkedAge was shorter than the grace period when Ready turned Unknown.
	MarkedInTime bool
	// NotMarked reports whether the node controller left the silent node Ready for too long, although the API server
	// answered. NotMarkedCertain reports whether a fault of the node controller is the only explanation.
	NotMarked, NotMarkedCertain bool
	// Blind reports whether kubeflap's own watch was broken during the silence. If so, kubeflap may have missed
	// heartbeats. BeganBlind reports whether the silence is proven, but began while the watch was broken. Began is then
	// the time at which the watch was restored. EndedBlind reports whether the silence may have ended while the watch
	// was broken.
	Blind, BeganBlind, EndedBlind bool
	// Relisted reports whether kubeflap knows the last renewal only from the first list after a break of its watch.
	// Began is then the renewTime, by the node's own clock.
	Relisted bool
	// Read reports whether a direct read of Leases confirmed that the node sent no heartbeat for the whole grace
	// period.
	Read bool
	// Unseen reports whether kubeflap saw only the node's status reports, which can be 5 min apart. Began is then the
	// time at which Ready turned Unknown.
	Unseen bool
	// ClockBack is the step by which the node's clock was set back, or 0. After such a step, the node controller
	// ignores the node's heartbeats for a while.
	ClockBack time.Duration
	// Labels holds the node's labels that other nodes may share. It is nil if unknown.
	Labels []transition.NodeLabel
	// Judgement is the decision about the silence, or nil if there is none yet.
	Judgement *Judgement
	// Found holds facts about a silence that began before kubeflap started watching. Began is then measured by the
	// node's own clock.
	Found Found
}

// Found holds what kubeflap's first lists of objects show about a silence. The zero value means that kubeflap saw the
// silence begin.
type Found struct {
	// Is reports whether the silence began before kubeflap started watching.
	Is bool
	// InDoubt reports whether the last heartbeat is too recent to explain the status Unknown. In this case, the node
	// had already recovered, the status was wrong, or the clocks differ.
	InDoubt bool
	// Marked is the time at which the node controller set Ready to Unknown, by the controller's clock. It is zero if
	// Ready was not Unknown.
	Marked time.Time
	// Perhaps describes an announcement of the node's departure if it is unknown whether the announcement came before
	// the silence. Otherwise, Perhaps is empty.
	Perhaps string
	// Returned is the number of other nodes that turned Ready soon after the silence began.
	Returned int
}

// NodeLoss holds the facts of a node incident.
type NodeLoss struct {
	// Silences holds the incident's silences, sorted by Began. Recent holds the cluster's unexplained silences that
	// began in the last hour or are ongoing, including those of the incident.
	Silences, Recent []*Silence
	// Late holds the nodes that have been silent for more than half the grace period, but not yet for the whole grace
	// period.
	Late []*Silence
	// ShortSilences returns the unexplained silences that began between two times and ended within the grace period.
	// Each lasted more than half the grace period. ShortSilences can be nil.
	ShortSilences func(from, to time.Time) []*Silence
	// Now is the time of the decision.
	Now time.Time
	// Nodes is the number of nodes in the cluster.
	Nodes int
	// GracePeriod is 0 if unknown. Interval is the longest undisturbed heartbeat interval of any node.
	GracePeriod, Interval time.Duration
	// ControlPlane holds the facts from control-plane Leases and from direct reads of Leases.
	ControlPlane ControlPlane
	// Break is the newest break of kubeflap's own Lease watch.
	Break Break
	// Upgrades holds the recent upgrades of kubelets. It is nil if there were none.
	Upgrades *upgrades.Upgrades
	// Rate measures how often nodes of this cluster fall silent.
	Rate chance.Rate

	// The field group caches the result of the method largestGroup. The field grouped reports whether the cache is
	// valid.
	group   []*Silence
	grouped bool
	// The field sorted holds Recent in order of Began. The field near caches a result of findLargestGroup.
	sorted    []*Silence
	near      near
	soloCache soloCache
	// The field shared caches the answer of sharedPath. It is nil until it is computed.
	shared *lazyAnswer
	// The field successive caches the answer of weighSuccessive, which is the same for all incidents. It is nil until
	// it is computed.
	successive *successiveResult
}

// lazyAnswer is the answer to a hypothesis. Its text is computed only when it is needed.
type lazyAnswer struct {
	holds   Answer
	because func() string
}

// successiveResult is the result of weighSuccessive, with the silences on which it is based.
type successiveResult struct {
	holds    Answer
	because  string
	silences []*Silence
}

// nodeHypothesis is a possible explanation of a node incident.
type nodeHypothesis struct {
	verdict Verdict
	weigh   func(*NodeLoss) (Answer, string)
}

// nodeHypotheses lists the hypotheses in order of precedence.
var nodeHypotheses = []nodeHypothesis{
	{Planned, planned},
	{NodeRebooted, rebooted},
	{GracePeriod, gracePeriod},
	{ControllerManager, controllerManager},
	{SharedPath, sharedPath},
	{Node, oneNode},
}

// OfNodes returns the decision about a node incident.
func OfNodes(f *NodeLoss) Decision {
	f.grouped, f.shared = false, nil // the caller may have changed the silences
	var all []Considered
	for _, h := range nodeHypotheses {
		holds, because := h.weigh(f)
		all = append(all, Considered{h.verdict, holds, because})
	}
	d := decide(all)
	d.Gone = d.Verdict == Undecided && f.countSilences((*Silence).isGone) == len(f.Silences)
	d.Etcd = d.Verdict == SharedPath && f.ControlPlane.allStopped(f.began())
	if d.Verdict == Undecided && f.announcementDoubt() != "" {
		d.Command = "kubectl get node " + f.Silences[0].Node + " -o yaml --show-managed-fields shows when somebody cordoned or tainted it"
		return d
	}
	if d.Verdict == Undecided && f.countUnseen() > 0 {
		d.Command = "kubectl -n kube-node-lease get leases shows when each node last renewed its Lease; grant kubeflap get, list and watch on Leases"
		return d
	}
	if i := slices.IndexFunc(f.Silences, func(s *Silence) bool { return s.Again == transition.MachineUnclear }); d.Verdict == Undecided && i >= 0 {
		d.Command = "journalctl --list-boots on " + f.Silences[i].Node + "; a boot from before the silence shows that the machine was not replaced"
		return d
	}
	if d.Verdict == Undecided && len(f.Silences) > 0 {
		d.Command = "kubectl get events -A --field-selector involvedObject.kind=Node; journalctl -u kubelet --since '" +
			f.Silences[0].Began.UTC().Format(time.DateTime) + " UTC' on " + nodesText(f.Silences)
	}
	return d
}

// Withdrawn returns the decision about an incident that kubeflap has withdrawn. In this decision, all hypotheses are
// excluded.
func Withdrawn(because string) (d Decision) {
	for _, h := range nodeHypotheses {
		d.Considered = append(d.Considered, Considered{h.verdict, No, because})
	}
	return d
}

// countBlind returns the number of unproven silences.
func (f *NodeLoss) countBlind() int {
	return f.countSilences(func(s *Silence) bool { return s.Blind || s.Found.InDoubt })
}

func (f *NodeLoss) blindText() string {
	if f.countSilences(func(s *Silence) bool { return s.Found.InDoubt }) > 0 {
		return "the last heartbeat is too recent to explain the status Unknown: the node had returned, the node controller was wrong, or the clocks differ; " + notWatched
	}
	return "kubeflap's own watch was broken at that time, so the missing heartbeats prove nothing"
}

// countUnseen returns the number of silences of nodes whose heartbeats kubeflap cannot see.
func (f *NodeLoss) countUnseen() int {
	return f.countSilences(func(s *Silence) bool { return s.Unseen })
}

const unseenText = "kubeflap sees no Leases, only status reports that may be 5 min apart, so it is unknown what happened in between"

func (f *NodeLoss) countSilences(match func(*Silence) bool) int {
	n := 0
	for _, s := range f.Silences {
		if match(s) {
			n++
		}
	}
	return n
}

func nodesText(all []*Silence) string { return phrase.Some(nodesOf(all)) }

// nodesOf returns the names of the silent nodes, without duplicates.
func nodesOf(all []*Silence) (names []string) {
	for _, s := range ofEachNode(all) {
		names = append(names, s.Node)
	}
	return names
}
