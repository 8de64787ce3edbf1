package pods

import (
	"strings"
	"unique"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/totals"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// text is a string that many objects share, such as the name of a node or an owner.
type text = unique.Handle[string]

// Pod is what is kept of a pod. There are more pods than anything else, so the fields are ordered to leave no gaps.
type Pod struct {
	// rest is the name. If afterOwner, as in most pods, it is only the part after the name of the owner.
	rest      string
	namespace *totals.Namespace[counts]
	node      text
	owner     text
	// turned is when Ready last changed. updated is when an image last changed in place. ended
	// is when a container's exit was seen with Ready still True.
	turned, updated, ended event.Moment
	containers             []container
	// services are the Services that were seen to hold the pod.
	services            *ServiceList
	generation          uint32
	ready               event.Status
	running, afterOwner bool
	// gated: it has a readiness gate. A pod gets gates when it is created, or never.
	gated bool
	// pending: it is among the pending pods.
	pending bool
	// everReady: it has been Ready since it was first seen. Until then it starts.
	everReady bool
	// replaced: a container was replaced since the last update in place. updateDone: and the pod has been Ready since.
	replaced, updateDone bool
	// short is for how many seconds it tolerates a node that is not Ready, plus one; 0 if that is not short.
	short uint8
	// cause is why it is not Ready. recovered is what it last recovered from. leaving is why it
	// goes for good, once it does.
	cause, recovered, leaving cause.Cause
}

// container is what is kept of a container.
type container struct {
	runs unique.Handle[image]
	// id is half of a hash of the container's ID, which usually changes with a restart.
	id       uint32
	restarts int32
}

// image is a container's name and image. There are as many as pod templates, not as many as pods.
type image struct{ name, image string }

func containerID(id string) uint32 { return uint32(event.Hash(id) >> 32) }

// IsReady reports whether Ready is True.
func (p *Pod) IsReady() bool { return p.ready == event.StatusTrue }

// WasReady reports whether Ready is not True, but was.
func (p *Pod) WasReady() bool { return p.ready != event.StatusTrue && p.everReady }

// Turned is when Ready last changed; 0 if it never did.
func (p *Pod) Turned() event.Moment { return p.turned }

// Cause is why the pod is not Ready.
func (p *Pod) Cause() cause.Cause { return p.cause }

// Recovered is what the pod last recovered from.
func (p *Pod) Recovered() cause.Cause { return p.recovered }

// Leaving is why the pod goes for good; Unknown if it stays.
func (p *Pod) Leaving() cause.Cause { return p.leaving }

// occupies reports whether the pod runs on a node and would leave it at a drain: a DaemonSet's pods and static pods stay.
func (p *Pod) occupies() bool {
	if !p.running || p.node == (text{}) {
		return false
	}
	owner := p.owner.Value()
	return p.node.Value() != "" && !strings.HasPrefix(owner, "DaemonSet/") && !strings.HasPrefix(owner, "Node/")
}

func (p *Pod) named() transition.Pod {
	return transition.Pod{Namespace: p.namespace.Name, Name: p.name(), Node: p.node.Value(), Owner: p.owner.Value()}
}

// leavingOf is why the endpoints controllers remove a pod's address for good (endpointslice, ShouldPodBeInEndpoints); Unknown if they do not.
func leavingOf(o *event.Pod) cause.Cause {
	c := &change{now: o}
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
	p.ready, p.running = readyOf(o), o.Phase == "Running"
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

// setOwner sets the owner, and the part of the name that the owner does not give: most pods are named after their ReplicaSet, DaemonSet or other owner.
func (p *Pod) setOwner(o *event.Pod) {
	if p.owner != (text{}) && p.owner.Value() == o.Owner {
		return
	}
	p.owner = unique.Make(o.Owner)
	rest, after := strings.CutPrefix(o.Name, p.ownerName())
	p.rest, p.afterOwner = strings.Clone(rest), after
}

func (p *Pod) name() string {
	if p.afterOwner {
		return p.ownerName() + p.rest
	}
	return p.rest
}

// ownerName is the owner without its kind.
func (p *Pod) ownerName() string {
	_, name, _ := strings.Cut(p.owner.Value(), "/")
	return name
}

// container finds a container by name. It is nearly always at the same index.
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

// compareContainers counts in-place updates (one for each write that changes an image of a running pod) and
// containers that restarted with Ready True before and after. It reports whether an image changed.
func (x *Pods) compareContainers(p *Pod, e event.Event, o *event.Pod, stayedReady bool) (updated bool) {
	for i := range o.Containers {
		c := &o.Containers[i]
		before := p.container(c.Name, i)
		if before == nil {
			continue
		}
		updated = updated || before.runs.Value().image != c.Image
		if before.restarts != c.Restarts || before.id != containerID(c.ID) {
			p.replaced, p.updateDone = true, stayedReady
		}
		if c.State == "terminated" && stayedReady && p.ended == 0 {
			p.ended = x.watches.Moment(e.Seen)
		}
		if stayedReady && c.Restarts > before.restarts {
			p.namespace.Counts.silentRestarts++
			x.found.Add(transition.PodRestartedSilently{At: transition.At{Time: e.Seen}, Pod: p.named()})
		}
	}
	if updated {
		p.updated, p.replaced, p.updateDone = x.watches.Moment(e.Seen), false, false
		p.namespace.Counts.inPlaceUpdates++
		if !p.gated {
			p.namespace.Counts.ungatedUpdates++
		}
		x.found.Add(transition.PodUpdatedInPlace{At: transition.At{Time: e.Seen}, Pod: p.named()})
	}
	return updated
}

func readyOf(o *event.Pod) event.Status {
	if o.Ready == nil {
		return event.StatusUnknown
	}
	return o.Ready.Status
}

// setText interns s only if it is new: comparing costs less than interning.
func setText(t *text, s string) {
	if *t == (text{}) || t.Value() != s {
		*t = unique.Make(s)
	}
}
