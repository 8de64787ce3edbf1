package pods

import (
	"maps"
	"slices"
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
	p.note().removalVersion = x.watches.Version()
	p.past.removedBecause = Quote((&lossEvidence{before: p, now: o}).why(p.RemovalCause))
	if p.RemovalCause == cause.PodEvicted && isVictim(o) {
		p.past.removedBecause = Quote(x.preempted(p, o, t))
	}
	if p.past.evictedByAPI = p.RemovalCause == cause.PodEvicted && o.Disruption == byAPI; p.past.evictedByAPI {
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
	since, status, ok := x.nodes.UnreadySince(o.Node)
	if !ok || o.Disruption != byTaint && (o.Disruption != "" || p.RemovalCause != cause.PodDeleted) {
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
	return &transition.PodEvicted{At: transition.At{Time: t}, Pod: p.named(), Status: status, After: after, Tolerates: tolerates}
}

// EvictedByAPI reports whether the pod was evicted through the Eviction API.
func (p *Pod) EvictedByAPI() bool { return p.was().evictedByAPI }

// RemovedBefore reports whether RemovalCause was decided before the write with a resourceVersion, or whether the order is
// unknown.
func (p *Pod) RemovedBefore(version uint64) bool {
	return version == 0 || p.was().removalVersion < version
}

// shortToleration is the longest toleration that counts as short, in seconds. A reboot of a node usually takes longer.
const shortToleration = 60

// ShortTolerations describes a namespace's pods with short tolerations. Such pods stay for at most 60 s on a node that
// is not Ready.
type ShortTolerations struct {
	Namespace string
	Pods      int
	// Shortest is the shortest toleration of these pods.
	Shortest time.Duration
}

// shortTolerationOf returns the time for which a pod tolerates a node that is not Ready, in seconds plus one. It uses the
// shorter of the tolerations for the taints not-ready and unreachable. It returns 0 if the pod has no short toleration.
func shortTolerationOf(o *event.Pod) (short uint8) {
	for _, t := range [...]*event.Toleration{o.ToleratesNotReady, o.ToleratesUnreachable} {
		if t != nil && !t.Forever && t.Seconds >= 0 && t.Seconds <= shortToleration && (short == 0 || uint8(t.Seconds)+1 < short) {
			short = uint8(t.Seconds) + 1
		}
	}
	return short
}

// ShortTolerations appends the namespaces with short tolerations to the given slice, sorted by name. It returns the
// extended slice.
func (x *Pods) ShortTolerations(into []ShortTolerations) []ShortTolerations {
	all := map[string]*ShortTolerations{}
	for _, p := range x.pods {
		if p.short == 0 {
			continue
		}
		name, after := p.namespace().Name, time.Duration(p.short-1)*time.Second
		if all[name] == nil {
			all[name] = &ShortTolerations{Namespace: name, Shortest: after}
		}
		all[name].Pods++
		all[name].Shortest = min(all[name].Shortest, after)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		into = append(into, *all[name])
	}
	return into
}
