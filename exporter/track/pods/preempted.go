package pods

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// nominatedWithin is the maximum time between the eviction of a pod and the nomination of the pod for which the scheduler
// makes room. The scheduler writes both in any order (see pkg/scheduler/framework/preemption).
const nominatedWithin = 10 * time.Second

// preemptions finds out for which pods the scheduler evicts others.
type preemptions struct {
	// `nominated` holds the pods that wait for room on a node, and victims holds the pods that were recently evicted to
	// make room, oldest first.
	nominated map[event.UID]nomination
	victims   []victim
}

type nomination struct {
	pod, node string
	at        time.Time
}

type victim struct {
	pod *Pod
	at  time.Time
}

// isVictim reports whether the scheduler evicts the pod to make room for another one.
func isVictim(o *event.Pod) bool {
	return o.Disruption == "PreemptionByScheduler" || o.Disruption == "PreemptionByKubeScheduler"
}

// nominee names the pods that the scheduler nominated for a node around t, or returns nothing.
func (x *preemptions) nominee(node string, t time.Time) string {
	var names []string
	for _, n := range x.nominated {
		if n.node == node && t.Sub(n.at).Abs() <= nominatedWithin {
			names = append(names, n.pod)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "; nominated for " + node + ": pod " + strings.Join(names, ", ")
}

// preempted remembers a victim, and returns what the API says about the eviction, with the nominated pod.
func (x *preemptions) preempted(p *Pod, o *event.Pod, t time.Time) string {
	x.victims = slices.DeleteFunc(x.victims, func(v victim) bool { return t.Sub(v.at) > nominatedWithin })
	x.victims = append(x.victims, victim{p, t})
	return evictionText(o) + x.nominee(o.Node, t)
}

// nominate handles a pod for which the scheduler may make room on a node. It reports for which of the recent victims the
// pod is nominated.
func (x *Pods) nominate(o *event.Pod, first bool, t time.Time) {
	switch n, known := x.nominated[o.UID]; {
	case o.Nominated == "" || o.Node != "":
		delete(x.nominated, o.UID)
		return
	case known && n.node == o.Nominated:
		return
	}
	if x.nominated == nil {
		x.nominated = map[event.UID]nomination{}
	}
	n := nomination{strings.Clone(o.Namespace + "/" + o.Name), strings.Clone(o.Nominated), t}
	if first {
		n.at = time.Time{} // it may have been nominated long ago
	}
	x.nominated[o.UID] = n
	for _, v := range x.victims {
		if p := v.pod; p.node.Value() == n.node && n.at.Sub(v.at) <= nominatedWithin && !first {
			p.past.removedBecause = Quote(p.past.removedBecause + x.nominee(n.node, t))
			x.found.Add(transition.PodLossExplained{At: transition.At{Time: t}, Pod: p.named(), Cause: cause.PodEvicted, Why: p.past.removedBecause})
		}
	}
}
