package pods

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// keepFor is the time for which counts are kept after a namespace has lost its last pod. Therefore, the counters do not
// restart when a workload is recreated, or scaled to zero and back.
const keepFor = time.Hour

// Namespace holds the counts of a namespace.
type Namespace struct {
	Name           string
	InPlaceUpdates uint64
	// UngatedUpdates counts the in-place updates of pods without a readiness gate.
	UngatedUpdates uint64
	SilentRestarts uint64
	// Unready counts how often the Ready condition of a pod changed from True to another status. Transitions counts the
	// changes of the condition by the new status and by cause.Cause. Transitions counts a change only after its cause
	// has been determined.
	Unready     uint64
	Transitions [3][cause.Count]uint64
	// UnreadyAfterRecovery counts the pods whose Ready is still False although the node and all containers are ready. The
	// node controller set Ready to False, and nobody has set it back to True. ReadyOnLostNode counts the pods whose Ready is
	// True on a node that has sent no heartbeat for longer than the grace period.
	UnreadyAfterRecovery, ReadyOnLostNode int
}

// namespace is a namespace that has pods, or had pods in the last hour.
type namespace struct {
	Namespace
	pods    int
	emptied time.Time
	// waiting holds what the pods wait for.
	waiting map[event.UID]*wait
	// appeared holds the recent appearances of pods of known workloads.
	appeared []appearance
}

// namespaces holds the namespaces that have pods, or had pods in the last hour.
type namespaces struct {
	*facts
	byName map[string]*namespace
}

// join adds a pod to a namespace.
func (x *namespaces) join(name string) *namespace {
	n := x.byName[name]
	if n == nil {
		n = &namespace{Namespace: Namespace{Name: name}, waiting: map[event.UID]*wait{}}
		x.byName[name] = n
	}
	n.pods++
	return n
}

// leave removes a pod from its namespace.
func (x *namespaces) leave(p *Pod, t time.Time) {
	n := x.of(p).namespace
	delete(n.waiting, p.ID)
	if n.pods--; n.pods > 0 {
		return
	}
	n.emptied = t
	x.watches.Schedule(t.Add(keepFor), watches.RankForget, func() {
		if n.pods == 0 && n.emptied.Equal(t) {
			delete(x.byName, n.Name)
		}
	})
}

// Namespaces appends namespaces to the given slice, sorted by name, and returns the extended slice. It includes each namespace
// that has pods, or had pods in the last hour.
func (x *Pods) Namespaces(into []Namespace) []Namespace {
	onLost, begin := x.readyOnLost(), len(into)
	for name, known := range x.byName {
		is := known.Namespace
		is.UnreadyAfterRecovery, is.ReadyOnLostNode = x.notRestored(name), onLost[name]
		into = append(into, is)
	}
	slices.SortFunc(into[begin:], func(a, b Namespace) int { return strings.Compare(a.Name, b.Name) })
	return into
}

// readyOnLost counts the Ready pods on lost nodes, by namespace.
func (x *Pods) readyOnLost() map[string]int {
	counts, lost := map[string]int{}, map[uint32]bool{}
	for node := range x.nodes.Lost() {
		if n := x.nodeNames.find(node); n != 0 { // without pods, a node has no number
			lost[n] = true
		}
	}
	if len(lost) == 0 {
		return counts
	}
	for _, p := range x.pods.all() {
		if p.IsReady() && !p.deleted && lost[p.node] {
			counts[x.of(p).namespace.Name]++
		}
	}
	return counts
}

// StartCounting sets the counters to zero.
func (x *namespaces) StartCounting() {
	for _, n := range x.byName {
		n.Namespace = Namespace{Name: n.Name}
	}
}
