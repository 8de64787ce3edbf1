package pods

import (
	"strings"
	"unique"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// text is a string that many objects share, such as the name of a node or an owner.
type text = unique.Handle[string]

// Pod is the stored state of a pod. Pods are the most numerous objects, so the fields are ordered to avoid padding.
type Pod struct {
	ID event.UID
	// `rest` is the pod's name. If afterOwner is set, the name begins with the owner's name, and `rest` holds only the
	// remainder.
	rest      string
	namespace *namespace
	node      text
	owner     unique.Handle[owner]
	// ReadyChangedAt is the time at which Ready last changed, or 0.
	ReadyChangedAt event.Moment
	containers     []container
	// `past` is nil if nothing has happened to the pod.
	past *past
	// `services` lists the Services that are known to contain the pod.
	services            *ServiceList
	ready               event.Status
	running, afterOwner bool
	// `seen` is set if the pod has been seen since the last list began.
	seen bool
	// gated is set if the pod has a readiness gate. Gates can only be set when a pod is created.
	gated bool
	// everReady reports whether the pod has been Ready at any time since it was first seen. A pod that has never been
	// Ready is still starting.
	everReady bool
	// `short` is the pod's short toleration in seconds, plus one. It is 0 if the pod has no short toleration.
	short uint8
	// RemovalCause is the reason why the pod's addresses are removed permanently, or Unknown if they stay.
	RemovalCause cause.Cause
}

// past holds what few pods have.
type past struct {
	// `loss` is the pod's last loss of readiness, or nil.
	loss *ReadinessLoss
	// updatedAt is the time at which an image last changed in place. containerEndedAt is the time at which kubeflap first
	// saw an exited container while Ready was True.
	updatedAt, containerEndedAt event.Moment
	// replaced is set if a container was replaced after the last in-place update. updateDone is set if the pod has been
	// Ready with the new container. readyAgain is set if Ready turned True with the new container. inRotation is set if
	// the pod was Ready when the image changed.
	replaced, updateDone, readyAgain, inRotation bool
	// staleTold is set if kubeflap has reported for how long Ready was wrong after the last update or the last end of a
	// container.
	staleTold bool
	// removalVersion is the resourceVersion of the write that set RemovalCause, or 0 if it is unknown. removedBecause is
	// what the API says about this cause. evictedByAPI is set if the pod was evicted through the Eviction API.
	removalVersion uint64
	removedBecause string
	evictedByAPI   bool
}

// was returns the pod's past, to read it.
func (p *Pod) was() past {
	if p.past == nil {
		return past{}
	}
	return *p.past
}

// note returns the pod's past, to change it.
func (p *Pod) note() *past {
	if p.past == nil {
		p.past = &past{}
	}
	return p.past
}

// container is the stored state of a container.
type container struct {
	runs unique.Handle[image]
	// id is half of a hash of the container ID. A restart usually changes the container ID.
	id       uint32
	restarts int32
}

// image is a container's name and image. Pods from the same template share it.
type image struct{ name, image string }

func containerID(id string) uint32 { return uint32(event.Hash(id) >> 32) }

// Node returns the name of the pod's node, or "" if there is none.
func (p *Pod) Node() string { return p.node.Value() }

// IsReady reports whether Ready is True.
func (p *Pod) IsReady() bool { return p.ready == event.StatusTrue }

// Cause returns the reason why the pod is not Ready.
func (p *Pod) Cause() cause.Cause {
	if p.IsReady() {
		return cause.Unknown
	}
	return p.lossCause()
}

// lossCause returns the cause of the pod's last loss of readiness.
func (p *Pod) lossCause() cause.Cause {
	if w := p.was().loss; w != nil {
		return w.Cause
	}
	return cause.Unknown
}

// occupies reports whether the pod runs on a node and would be evicted in a drain of the node. A drain does not evict
// DaemonSet pods and static pods.
func (p *Pod) occupies() bool {
	if !p.running || p.node == (text{}) {
		return false
	}
	owner := p.owner.Value().name
	return p.node.Value() != "" && !strings.HasPrefix(owner, "DaemonSet/") && !strings.HasPrefix(owner, "Node/")
}

func (p *Pod) named() transition.Pod {
	return transition.Pod{Namespace: p.namespace.Name, Name: p.name(), Node: p.node.Value(), Owner: p.owner.Value().name}
}

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

func (p *Pod) set(o *event.Pod) {
	p.seen, p.ready, p.running, p.short = true, readyOf(o), o.Phase == "Running", shortTolerationOf(o)
	setText(&p.node, o.Node)
	p.setOwner(o)
	if len(p.containers) != len(o.Containers) {
		p.containers = make([]container, len(o.Containers))
	}
	for i := range o.Containers {
		c := &p.containers[i]
		if runs := (image{o.Containers[i].Name, o.Containers[i].Image}); c.runs == (unique.Handle[image]{}) || c.runs.Value() != runs {
			c.runs = unique.Make(runs)
		}
		c.restarts, c.id = o.Containers[i].Restarts, containerID(o.Containers[i].ID)
	}
}

// setOwner sets the owner, and splits the pod's name into the owner's name and the rest. Most pods are named after
// their ReplicaSet, DaemonSet or other owner.
func (p *Pod) setOwner(o *event.Pod) {
	is := ownerOf(o)
	if p.owner != (unique.Handle[owner]{}) && p.owner.Value() == is {
		return
	}
	p.owner = unique.Make(is)
	rest, after := strings.CutPrefix(o.Name, p.ownerName())
	p.rest, p.afterOwner = strings.Clone(rest), after
}

func (p *Pod) name() string {
	if p.afterOwner {
		return p.ownerName() + p.rest
	}
	return p.rest
}

// ownerName returns the owner's name, without the kind.
func (p *Pod) ownerName() string {
	_, name, _ := strings.Cut(p.owner.Value().name, "/")
	return name
}

// container returns the container with this name, or nil. It tries the index `at` first.
func (p *Pod) container(name string, at int) *container {
	if at < len(p.containers) && p.containers[at].runs.Value().name == name {
		return &p.containers[at]
	}
	for i := range p.containers {
		if p.containers[i].runs.Value().name == name {
			return &p.containers[i]
		}
	}
	return nil
}

// compareContainers counts in-place updates, and container restarts during which Ready stayed True. It reports whether
// an image changed. A write that changes several images counts as one update.
func (x *Pods) compareContainers(p *Pod, e event.Event, o *event.Pod, stayedReady bool) (updated bool) {
	for i := range o.Containers {
		c := &o.Containers[i]
		before := p.container(c.Name, i)
		if before == nil {
			continue
		}
		updated = updated || before.runs.Value().image != c.Image
		if before.restarts != c.Restarts || before.id != containerID(c.ID) {
			p.note().replaced, p.note().updateDone = true, stayedReady
			p.past.staleTold = p.past.staleTold && !stayedReady
		}
		if c.State == "terminated" && stayedReady && p.was().containerEndedAt == 0 {
			p.note().containerEndedAt, p.past.staleTold = x.watches.Moment(e.Seen), false
		}
		if stayedReady && c.Restarts > before.restarts {
			p.namespace.SilentRestarts++
			x.found.Add(transition.PodRestartedSilently{At: transition.At{Time: e.Seen}, Pod: p.named()})
		}
	}
	if updated {
		*p.note() = past{loss: p.was().loss, updatedAt: x.watches.Moment(e.Seen), containerEndedAt: p.was().containerEndedAt, inRotation: p.IsReady()}
		p.namespace.InPlaceUpdates++
		if !p.gated {
			p.namespace.UngatedUpdates++
		}
		x.found.Add(transition.PodUpdatedInPlace{At: transition.At{Time: e.Seen}, Pod: p.named(), Ready: p.IsReady()})
	}
	return updated
}

func readyOf(o *event.Pod) event.Status {
	if o.Ready == nil {
		return event.StatusUnknown
	}
	return o.Ready.Status
}

// setText sets t to the string s. It first compares the two, because a comparison is cheaper than unique.Make.
func setText(t *text, s string) {
	if *t == (text{}) || t.Value() != s {
		*t = unique.Make(s)
	}
}
