package track

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// The kinds of pods whose Ready says what is not so.
const (
	// UnreadyAfterRecovery: the node is Ready and all containers are, and the pod's
	// Ready is still False: nobody took back what the node controller had marked.
	UnreadyAfterRecovery = "unready_after_recovery"
	// ReadyOnLostNode: Ready is True on a node whose heartbeat is out for longer than the grace period.
	ReadyOnLostNode = "ready_on_lost_node"
)

// recoverWithin is how long a kubelet has to restore the readiness of its pods: it
// compares what it knows with the API every 10 s (status manager, syncBatch).
const recoverWithin = 10 * time.Second

// Misreported counts the pods of a namespace whose Ready says what is not so.
type Misreported struct {
	Namespace, Kind string
	Pods            int
}

// noteStuck keeps account of pods that are not Ready though their containers are.
func (f *Tracker) noteStuck(id event.UID, p *pod, o *event.Pod, t time.Time) {
	stuck := p.running && p.leaving == CauseUnknown && p.ready == event.StatusFalse &&
		o.ContainersReady == event.StatusTrue && len(o.GatesNotReady) == 0
	if _, known := f.stuck[id]; known == stuck {
		return
	}
	if stuck {
		f.stuck[id] = t
	} else {
		delete(f.stuck, id)
	}
}

// Misreported appends, as of t, the namespaces that have such pods to into.
func (f *Tracker) Misreported(t time.Time, into []Misreported) []Misreported {
	f.mu.Lock()
	defer f.mu.Unlock()
	t = f.asOf(t)
	counts := map[Misreported]int{}
	for id, since := range f.stuck {
		p := f.pods[id]
		if n := f.nodes[p.node.Value()]; n != nil && n.exists && n.ready == event.StatusTrue && longerThan(t, since, n.since, recoverWithin) {
			counts[Misreported{Namespace: p.namespace.name, Kind: UnreadyAfterRecovery}]++
		}
	}
	f.countReadyOnLost(t, counts)
	for what, n := range counts {
		what.Pods = n
		into = append(into, what)
	}
	slices.SortFunc(into, func(a, b Misreported) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind))
	})
	return into
}

// countReadyOnLost goes over all pods only when a node was found lost that was not at the question before; what becomes
// of the pods of lost nodes is kept up with.
func (f *Tracker) countReadyOnLost(t time.Time, counts map[Misreported]int) {
	if newly := f.noteLost(t); len(newly) > 0 {
		for _, p := range f.pods {
			if newly[p.node.Value()] {
				f.shiftOnLost(p, 1)
			}
		}
	}
	for _, namespaces := range f.onLost {
		for name, pods := range namespaces {
			counts[Misreported{Namespace: name, Kind: ReadyOnLostNode}] += pods
		}
	}
}

// noteLost begins an account for each lost node that has none, whose pods are yet to be counted, and
// closes those of the others.
func (f *Tracker) noteLost(t time.Time) map[string]bool {
	newly := map[string]bool{}
	lost := func(n *node) bool { return n != nil && n.exists && f.lost(n, t) }
	maps.DeleteFunc(f.onLost, func(name string, _ map[string]int) bool { return !lost(f.nodes[name]) })
	for name, n := range f.nodes {
		if f.onLost[name] == nil && lost(n) {
			f.onLost[name], newly[name] = map[string]int{}, true
		}
	}
	return newly
}

// shiftOnLost adds a pod to the account of its node, or takes it out, if there is one.
func (f *Tracker) shiftOnLost(p *pod, by int) {
	namespaces := f.onLost[p.node.Value()]
	if namespaces == nil || p.ready != event.StatusTrue {
		return
	}
	name := p.namespace.name
	if namespaces[name] += by; namespaces[name] == 0 {
		delete(namespaces, name)
	}
}

// lost reports whether a node's heartbeat is out for longer than the grace period.
func (f *Tracker) lost(n *node, t time.Time) bool {
	start := f.intervalStart(n)
	return !start.IsZero() && f.beats.grace > 0 && !f.blindToHeartbeats() && t.Sub(start) > f.beats.grace && n.heartbeat.missed
}

// longerThan reports whether both moments are longer ago than d.
func longerThan(t, a, b time.Time, d time.Duration) bool {
	return t.Sub(a) > d && t.Sub(b) > d
}
