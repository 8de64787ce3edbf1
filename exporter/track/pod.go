package track

import (
	"strings"
	"time"
	"unique"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// text is a string that many objects share: a node, an owner.
type text = unique.Handle[string]

// pod is what is kept of a Pod. Nothing else is there as often, so it has no gaps.
type pod struct {
	// rest is its name; if afterOwner, as in most pods, only what follows the name of its owner in it.
	rest      string
	namespace *namespace
	node      text
	owner     text
	// turned is when Ready last changed, updated when an image did in place, ended
	// when a container's end was seen with Ready still True.
	turned, updated, ended event.Moment
	containers             []container
	// services are those that have been seen to hold it.
	services            *serviceList
	generation          uint32
	ready               event.Status
	running, afterOwner bool
	// gated: it has a readiness gate, which a pod gets when it is made or never.
	gated bool
	// everReady: it has been Ready since it was seen; what comes before is its start.
	everReady bool
	// replaced: since the last update in place a container was replaced; updateDone: and it was Ready since.
	replaced, updateDone bool
	// cause is why it is not Ready, while it is not; recovered is what it recovered from last; leaving
	// is why it goes, once it does.
	cause, recovered, leaving Cause
}

// container is what is kept of a container.
type container struct {
	runs unique.Handle[image]
	// id is half a hash of the container's ID, which changes with restarts as a rule.
	id       uint32
	restarts int32
}

func containerID(id string) uint32 { return uint32(hashOf(id) >> 32) }

// image is a container's name and image: as many as there are templates, not pods.
type image struct{ name, image string }

// namespace counts what is counted per namespace; it lives as long as a pod does in it, and for keepFor longer.
type namespace struct {
	name           string
	pods           int
	emptied        time.Time
	inPlaceUpdates uint64
	// ungatedUpdates are those of pods without a readiness gate.
	ungatedUpdates uint64
	silentRestarts uint64
	// unready counts the times that Ready left True.
	unready uint64
	// transitions counts changes of Ready by the status that it took and the cause.
	transitions [3][numCauses]uint64
}

func (f *Tracker) applyPod(e event.Event, o *event.Pod) {
	p := f.pods[o.UID]
	if e.Type == event.Deleted {
		if p != nil {
			p.noteLeaving(o)
		}
		f.forgetPod(o.UID)
		return
	}
	f.noteControllerManager(o)
	if p == nil {
		f.addPod(e, o)
		return
	}
	p.generation = f.generation(e)
	p.noteLeaving(o)
	ready := readyOf(o)
	// A relist shows that an image changed, not that the pod was running when it did.
	if e.Type == event.Modified && p.running {
		f.compareContainers(p, e, o, p.ready == event.StatusTrue && ready == event.StatusTrue)
	}
	if ready != p.ready {
		f.turnPod(p, e, o)
	}
	f.shiftOnLost(p, -1)
	f.setPod(p, o)
	f.noteStuck(o.UID, p, o, e.Seen)
	f.doubtServicesOf(p, e.Seen)
	f.settleLossesOf(o.UID)
}

// noteLeaving keeps the first reason: a pod that is deleted may end well after that, one
// that has ended is deleted some day.
func (p *pod) noteLeaving(o *event.Pod) {
	if p.leaving == CauseUnknown {
		p.leaving = leavingOf(o)
	}
}

// leavingOf is why a pod goes: what makes the endpoints controllers take its
// address out for good (endpointslice, ShouldPodBeInEndpoints). CauseUnknown if it stays.
func leavingOf(o *event.Pod) Cause {
	c := &podChange{now: o}
	switch {
	case evicted(c) && (o.Phase == "Failed" || completed(c) || deleted(c)):
		return CausePodEvicted
	case deleted(c):
		return CausePodDeleted
	case completed(c):
		return CausePodCompleted
	case o.Phase == "Failed":
		return CauseContainerExit
	}
	return CauseUnknown
}

func (f *Tracker) addPod(e event.Event, o *event.Pod) {
	ns := f.namespaces[o.Namespace]
	if ns == nil {
		ns = &namespace{name: o.Namespace}
		f.namespaces[o.Namespace], f.order.namespaces = ns, nil
	}
	ns.pods++
	p := &pod{namespace: ns, generation: f.generation(e), leaving: leavingOf(o), gated: o.Gates > 0}
	f.pods[o.UID] = p
	f.setPod(p, o)
	p.everReady = p.ready == event.StatusTrue
	f.noteStuck(o.UID, p, o, e.Seen)
	f.settleLossesOf(o.UID)
}

func (f *Tracker) setPod(p *pod, o *event.Pod) {
	p.ready, p.running = readyOf(o), o.Phase == "Running"
	setText(&p.node, o.Node)
	f.shiftOnLost(p, 1)
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

// setOwner also takes what of the name the owner does not tell: most pods are called after their ReplicaSet, DaemonSet or so.
func (p *pod) setOwner(o *event.Pod) {
	if p.owner != (text{}) && p.owner.Value() == o.Owner {
		return
	}
	p.owner = unique.Make(o.Owner)
	rest, after := strings.CutPrefix(o.Name, p.ownerName())
	p.rest, p.afterOwner = strings.Clone(rest), after
}

func (p *pod) name() string {
	if p.afterOwner {
		return p.ownerName() + p.rest
	}
	return p.rest
}

// ownerName is the owner without its kind.
func (p *pod) ownerName() string {
	_, name, _ := strings.Cut(p.owner.Value(), "/")
	return name
}

// compareContainers counts in-place updates (one for each write that changes an
// image of a running pod) and containers that restarted with Ready True before and after.
func (f *Tracker) compareContainers(p *pod, e event.Event, o *event.Pod, stayedReady bool) {
	updated := false
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
			p.ended = f.moment(e.Seen)
		}
		if stayedReady && c.Restarts > before.restarts {
			p.namespace.silentRestarts++
			f.report(p.finding(e, PodRestartedSilently))
		}
	}
	if updated {
		p.updated, p.replaced, p.updateDone = f.moment(e.Seen), false, false
		p.namespace.inPlaceUpdates++
		if !p.gated {
			p.namespace.ungatedUpdates++
		}
		f.report(p.finding(e, PodUpdatedInPlace))
	}
}

func (p *pod) finding(e event.Event, kind FindingKind) Finding {
	return Finding{Time: e.Seen, Kind: kind, Namespace: p.namespace.name, Pod: p.name(), Node: p.node.Value(), Owner: p.owner.Value()}
}

// container finds a container by name; it is nearly always where it was.
func (p *pod) container(name string, at int) *container {
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

func (f *Tracker) forgetPod(id event.UID) {
	p := f.pods[id]
	if p == nil {
		return
	}
	f.resolveTurn(f.turns[id])
	delete(f.pods, id)
	delete(f.stuck, id)
	f.shiftOnLost(p, -1)
	f.doubtServicesOf(p, f.now)
	f.depart(id, p, f.now)
	f.settleLossesOf(id)
	if p.namespace.pods--; p.namespace.pods == 0 {
		p.namespace.emptied = f.now
		f.emptiedNamespaces.push(emptied[*namespace]{p.namespace, f.now})
	}
	if _, ok := f.grace.managers[id]; ok {
		delete(f.grace.managers, id)
		f.graceChanged()
	}
}

// noteControllerManager takes the grace period from a kube-controller-manager's pod.
func (f *Tracker) noteControllerManager(o *event.Pod) {
	// Others may run pods that look like one, for their own clusters or to mislead.
	if o.ControllerManager == nil || o.Namespace != "kube-system" || o.Phase != "Running" || f.grace.managers[o.UID] == *o.ControllerManager {
		return
	}
	f.grace.managers[o.UID] = *o.ControllerManager
	f.graceChanged()
}

func readyOf(o *event.Pod) event.Status {
	if o.Ready == nil {
		return event.StatusUnknown
	}
	return o.Ready.Status
}

// setText interns s only where it is new: comparing is cheaper than interning.
func setText(t *text, s string) {
	if *t == (text{}) || t.Value() != s {
		*t = unique.Make(s)
	}
}
