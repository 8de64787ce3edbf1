package pods

import (
	"cmp"
	"slices"
	"strings"
)

// MisreportKind says in which way a pod's Ready condition is wrong. It is the value of the label `kind`.
type MisreportKind string

// Kinds of wrong Ready conditions.
const (
	// UnreadyAfterRecovery means that Ready is still False although the node and all containers of the pod are ready.
	// The node controller set Ready to False, and nobody has set it back to True.
	UnreadyAfterRecovery MisreportKind = "unready_after_recovery"
	// ReadyOnLostNode means that Ready is True on a node that has sent no heartbeat for longer than the grace period.
	ReadyOnLostNode MisreportKind = "ready_on_lost_node"
)

// Misreported is the number of a namespace's pods with one kind of wrong Ready condition.
type Misreported struct {
	Namespace string
	Kind      MisreportKind
	Pods      int
}

// Misreported appends the counts of pods with a wrong Ready condition to the given slice. It returns the extended
// slice.
func (x *Pods) Misreported(into []Misreported) []Misreported {
	counts := map[Misreported]int{}
	for name, n := range x.byName {
		if pods := x.notRestored(n); pods > 0 {
			counts[Misreported{Namespace: name, Kind: UnreadyAfterRecovery}] = pods
		}
	}
	x.readyOnLost(counts)
	for what, n := range counts {
		what.Pods = n
		into = append(into, what)
	}
	slices.SortFunc(into, func(a, b Misreported) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind))
	})
	return into
}

// readyOnLost counts the Ready pods on lost nodes.
func (x *Pods) readyOnLost(counts map[Misreported]int) {
	lost := map[uint32]bool{}
	for node := range x.nodes.Lost(x.watches.Now()) {
		lost[x.nodeNames.find(node)] = true
	}
	if len(lost) == 0 {
		return
	}
	for _, p := range x.pods.all() {
		if p.IsReady() && !p.deleted && lost[p.node] {
			counts[Misreported{Namespace: x.of(p).namespace.Name, Kind: ReadyOnLostNode}]++
		}
	}
}
