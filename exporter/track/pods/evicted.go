package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// byTaint is a reason of the condition DisruptionTarget. The taint eviction controller sets this reason (see
// pkg/controller/tainteviction).
const byTaint = "DeletionByTaintManager"

// byAPI is the reason that the Eviction API sets, for example when kubectl or an autoscaler drains a node (see
// pkg/registry/core/pod/storage, EvictionREST).
const byAPI = "EvictionByEvictionAPI"

// byKubelet is the reason that the kubelet sets (see pkg/kubelet/eviction). Pod GC also writes the condition, with another
// reason, before it deletes a pod.
const byKubelet = "TerminationByKubelet"

// noteRemovalCause stores why a pod's addresses are removed permanently. It keeps the first cause, because a completed
// pod, for example, is usually deleted later. noteRemovalCause also reports an eviction from a node that is not Ready.
func (x *Pods) noteRemovalCause(p *Pod, o *event.Pod, t time.Time) {
	if p.RemovalCause != cause.Unknown {
		return
	}
	if p.RemovalCause = removalCauseOf(o); p.RemovalCause == cause.Unknown {
		return
	}
	eviction := x.evictedByNode(p, o, t)
	if eviction != nil {
		p.RemovalCause = cause.PodEvicted
	}
	was := x.note(p)
	was.evictedByKubelet = p.RemovalCause == cause.PodEvicted && o.DeletionTimestamp.IsZero() && (o.Disruption == "" || o.Disruption == byKubelet)
	was.announced = x.nodes.AnnouncedShutdown(o.Node, t)
	was.removalVersion, was.removedBecause = x.watches.Version(), Quote(x.evidence(p, o, t).why(p.RemovalCause))
	if was.evictedByAPI = p.RemovalCause == cause.PodEvicted && o.Disruption == byAPI; was.evictedByAPI {
		x.nodes.PodEvicted(o.Node, t)
	}
	if eviction != nil {
		x.found.Add(*eviction)
	}
}

// deletedWithin is the longest time from the end of a toleration until the pod is deleted. After a failure of several
// nodes, the node controller taints one node of a zone every 10 s.
const deletedWithin = 30 * time.Second

// evictedByNode returns the eviction of a pod by the taint of a node that is not Ready, or nil. Before v1.26, an eviction is
// a deletion without a condition, which comes when the toleration ends.
func (x *Pods) evictedByNode(p *Pod, o *event.Pod, t time.Time) *transition.PodEvicted {
	status, since, ok := x.nodes.Status(o.Node)
	if !ok || status == event.StatusTrue || o.Disruption != byTaint && (o.Disruption != "" || p.RemovalCause != cause.PodDeleted) {
		return nil
	}
	after, tolerates := t.Sub(since), o.ToleratesUnreachable
	if status == event.StatusFalse {
		tolerates = o.ToleratesNotReady
	}
	switch {
	case tolerates != nil && tolerates.Forever, tolerates == nil && o.Disruption == "":
		return nil
	case o.Disruption == "":
		if late := after - time.Duration(tolerates.Seconds)*time.Second; late < 0 || late > deletedWithin {
			return nil
		}
	}
	return &transition.PodEvicted{At: transition.At{Time: t}, Pod: x.named(p), Status: status, After: after, Tolerates: tolerates}
}

// EvictedByAPI reports whether the pod was evicted through the Eviction API.
func (x *store) EvictedByAPI(p *Pod) bool { return x.was(p).evictedByAPI }

// EvictedByKubelet reports whether a pod that was evicted was so by its kubelet. All others delete the pods that they evict.
func (x *store) EvictedByKubelet(p *Pod) bool {
	return p.RemovalCause == cause.Unknown || x.was(p).evictedByKubelet
}

// AnnouncedShutdown describes how the departure of the pod's node was announced before the kubelet evicted the pod at t.
func (x *Pods) AnnouncedShutdown(p *Pod, t time.Time) string {
	if p.RemovalCause == cause.Unknown {
		return x.nodes.AnnouncedShutdown(x.Node(p), t) // the pod is still on the node
	}
	return x.was(p).announced
}

// RemovedBefore reports whether RemovalCause was decided before the write with a resourceVersion, or whether the order is
// unknown.
func (x *store) RemovedBefore(p *Pod, version uint64) bool {
	return version == 0 || x.was(p).removalVersion < version
}
