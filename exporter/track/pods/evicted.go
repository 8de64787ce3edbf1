package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// byTaint is the reason of DisruptionTarget of a pod that did not tolerate a taint for longer (pkg/controller/tainteviction).
const byTaint = "DeletionByTaintManager"

// noteLeaving keeps the first reason why a pod leaves for good: a deleted pod may complete much later, and a completed
// pod is deleted some day. It reports pods that are evicted from a node that is not Ready.
func (x *Pods) noteLeaving(p *Pod, o *event.Pod, t time.Time) {
	if p.leaving != cause.Unknown {
		return
	}
	if p.leaving = leavingOf(o); p.leaving != cause.PodEvicted || o.Disruption != byTaint {
		return
	}
	since, status, ok := x.nodes.UnreadySince(o.Node)
	if !ok {
		return
	}
	tolerates := o.ToleratesUnreachable
	if status == event.StatusFalse {
		tolerates = o.ToleratesNotReady
	}
	x.found.Add(transition.PodEvicted{At: transition.At{Time: t}, Pod: p.named(), Status: status, After: t.Sub(since), Tolerates: tolerates})
}
