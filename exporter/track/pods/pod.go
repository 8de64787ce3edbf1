package pods

import (
	"hash/maphash"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Pod is the stored state of a pod. Pods are the most numerous objects, so a Pod is small and contains no pointers. What
// many pods have in common, and what few pods have, is stored elsewhere.
type Pod struct {
	ID event.UID
	// ReadyChangedAt is the time at which Ready last changed, or 0.
	ReadyChangedAt event.Moment
	// `end` is the end of the pod's name, after template.begins, padded with zeros.
	end  [maxEnd]byte
	runs runs
	// `family` and `node` are numbers in the tables of store.
	family, node uint32
	ready        event.Status
	running      bool
	// `seen` is set if the pod has been seen since the last list began. `deleted` is set if the pod was deleted recently.
	seen, deleted bool
	// everReady reports whether the pod has been Ready at any time since it was first seen. A pod that has never been
	// Ready is still starting.
	everReady bool
	// RemovalCause is the reason why the pod's addresses are removed permanently, or Unknown if they stay.
	RemovalCause cause.Cause
	// restarts is the number of restarts of all containers. Only its differences count, so it may overflow.
	restarts uint16
}

// template is what the pods of a workload have in common.
type template struct {
	namespace *namespace
	owner     owner
	// `begins` is the beginning of the pods' names, up to the last dash. For a pod whose name ends differently, it is the
	// whole name.
	begins string
	// images is a hash of the containers' images, in the order of the spec, or 0 if the containers are unknown.
	images uint64
	// gated is set if the pods have a readiness gate. Gates can only be set when a pod is created.
	gated bool
}

// family is the pods with the same template.
type family struct {
	template
	// `services` are the Services that are known to contain some of the pods.
	services []Service
}

// maxEnd is the longest end of a pod's name that is stored separately. Controllers add 5 random characters, or a number.
const maxEnd = 8

// past holds what few pods have.
type past struct {
	// `of` is the pod.
	of event.UID
	// `loss` is the pod's last loss of readiness, or nil.
	loss *ReadinessLoss
	// updatedAt is the time at which an image last changed in place. staleSince is the time since which Ready has been True
	// although an image changed or a container ended, or 0 if kubeflap has reported that.
	updatedAt, staleSince event.Moment
	// deletedAt is the time of the pod's last deletion, or 0.
	deletedAt event.Moment
	// replaced is set if a container was replaced after the last in-place update. updateDone is set if the pod has been
	// Ready with the new container. readyAgain is set if Ready turned True with the new container. inRotation is set if
	// the pod was Ready when the image changed.
	replaced, updateDone, readyAgain, inRotation bool
	// removalVersion is the resourceVersion of the write that set RemovalCause, or 0 if it is unknown. removedBecause is
	// what the API says about this cause. evictedByAPI is set if the pod was evicted through the Eviction API,
	// and evictedByKubelet if its kubelet evicted it. `announced` describes how the departure of its node was announced then.
	removalVersion   uint64
	removedBecause   string
	evictedByAPI     bool
	evictedByKubelet bool
	announced        string
}

// runs shows which container was replaced or restarted: a hash of its ID and its restarts. If there are more containers than
// hashes, several containers share one.
type runs [4]uint32

func runsOf(o *event.Pod) (is runs) {
	for i := range o.Containers {
		c := &o.Containers[i]
		is[i%len(is)] ^= uint32(maphash.String(seed, c.ID)) + uint32(c.Restarts)
	}
	return is
}

func restartsOf(o *event.Pod) (sum uint16) {
	for i := range o.Containers {
		sum += uint16(o.Containers[i].Restarts)
	}
	return sum
}

func imagesOf(o *event.Pod) (sum uint64) {
	for i := range o.Containers {
		sum = 31*sum + maphash.String(seed, o.Containers[i].Image)
	}
	return sum
}

// IsReady reports whether Ready is True.
func (p *Pod) IsReady() bool { return p.ready == event.StatusTrue }

// removalCauseOf returns why the endpoints controllers remove a pod's addresses permanently (see ShouldPodBeInEndpoints
// in k8s.io/endpointslice). It returns Unknown if they keep the addresses.
func removalCauseOf(o *event.Pod) cause.Cause {
	c := &lossEvidence{now: o}
	switch {
	case evicted(c) && (o.Phase == "Failed" || completed(c) || deleted(c)):
		return cause.PodEvicted
	case deleted(c):
		return cause.PodDeleted
	case completed(c):
		return cause.PodCompleted
	case o.Phase == "Failed":
		return cause.ContainerExit
	}
	return cause.Unknown
}

// compareContainers counts in-place updates, and container restarts during which Ready stayed True. It reports whether
// an image changed. A write that changes several images counts as one update, and one of several restarts as one restart.
func (x *Pods) compareContainers(p *Pod, e event.Event, o *event.Pod, stayedReady bool) (updated bool) {
	is := x.of(p)
	if is.images == 0 || len(o.Containers) == 0 {
		return false // the containers are unknown
	}
	was := x.was(p)
	if stayedReady && was.staleSince == 0 && slices.ContainsFunc(o.Containers, func(c event.Container) bool { return c.State == "terminated" }) {
		x.note(p).staleSince = x.watches.Moment(e.Seen)
	}
	if p.runs != runsOf(o) {
		was = x.note(p)
		was.replaced, was.updateDone = true, stayedReady
		if stayedReady && int16(restartsOf(o)-p.restarts) > 0 {
			if was.staleSince > was.updatedAt {
				was.staleSince = 0 // Ready is right again
			}
			is.namespace.SilentRestarts++
			x.found.Add(transition.PodRestartedSilently{At: transition.At{Time: e.Seen}, Pod: x.named(p)})
		}
	}
	if updated = is.images != imagesOf(o); updated {
		now := x.watches.Moment(e.Seen)
		*x.note(p) = past{of: p.ID, loss: was.loss, updatedAt: now, staleSince: now, inRotation: p.IsReady()}
		is.namespace.InPlaceUpdates++
		if !is.gated {
			is.namespace.UngatedUpdates++
		}
		x.found.Add(transition.PodUpdatedInPlace{At: transition.At{Time: e.Seen}, Pod: x.named(p), Ready: p.IsReady()})
	}
	return updated
}

func readyOf(o *event.Pod) event.Status {
	if o.Ready == nil {
		return event.StatusUnknown
	}
	return o.Ready.Status
}
