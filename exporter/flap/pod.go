package flap

import (
	"unique"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// text is a string that many objects share: a container's name, an image, a node.
type text = unique.Handle[string]

// pod is what is kept of a Pod.
type pod struct {
	name       string
	namespace  *namespace
	node       text
	generation uint32
	ready      event.Status
	running    bool
	containers []container
}

type container struct {
	name, image text
	restarts    int32
}

// namespace counts what is counted per namespace; it lives as long as a pod does in it.
type namespace struct {
	name           string
	pods           int
	inPlaceUpdates uint64
	silentRestarts uint64
}

func (f *Fold) applyPod(e event.Event, o *event.Pod) {
	if e.Type == event.Deleted {
		f.forgetPod(o.UID)
		return
	}
	f.noteControllerManager(o)
	p := f.pods[o.UID]
	if p == nil {
		f.addPod(e, o)
		return
	}
	p.generation = f.generation(e)
	ready := readyOf(o)
	// A relist shows that an image changed, not that the pod was running when it did.
	if e.Type == event.Modified && p.running {
		f.compareContainers(p, e, o, p.ready == event.StatusTrue && ready == event.StatusTrue)
	}
	f.setPod(p, o)
}

func (f *Fold) addPod(e event.Event, o *event.Pod) {
	ns := f.namespaces[o.Namespace]
	if ns == nil {
		ns = &namespace{name: o.Namespace}
		f.namespaces[o.Namespace] = ns
	}
	ns.pods++
	p := &pod{name: o.Name, namespace: ns, generation: f.generation(e)}
	f.pods[o.UID] = p
	f.setPod(p, o)
}

func (f *Fold) setPod(p *pod, o *event.Pod) {
	p.ready, p.running = readyOf(o), o.Phase == "Running"
	setText(&p.node, o.Node)
	if len(p.containers) != len(o.Containers) {
		p.containers = make([]container, len(o.Containers))
	}
	for i := range o.Containers {
		c := &p.containers[i]
		setText(&c.name, o.Containers[i].Name)
		setText(&c.image, o.Containers[i].Image)
		c.restarts = o.Containers[i].Restarts
	}
}

// compareContainers counts in-place updates (one for each write that changes an
// image of a running pod) and containers that restarted with Ready True before and after.
func (f *Fold) compareContainers(p *pod, e event.Event, o *event.Pod, stayedReady bool) {
	updated := false
	for i := range o.Containers {
		c := &o.Containers[i]
		before := p.container(c.Name, i)
		if before == nil {
			continue
		}
		updated = updated || before.image.Value() != c.Image
		if stayedReady && c.Restarts > before.restarts {
			p.namespace.silentRestarts++
			f.report(p.finding(e, PodRestartedSilently))
		}
	}
	if updated {
		p.namespace.inPlaceUpdates++
		f.report(p.finding(e, PodUpdatedInPlace))
	}
}

func (p *pod) finding(e event.Event, kind FindingKind) Finding {
	return Finding{Time: e.Seen, Kind: kind, Namespace: p.namespace.name, Pod: p.name, Node: p.node.Value()}
}

// container finds a container by name; it is nearly always where it was.
func (p *pod) container(name string, at int) *container {
	if at < len(p.containers) && p.containers[at].name.Value() == name {
		return &p.containers[at]
	}
	for i := range p.containers {
		if p.containers[i].name.Value() == name {
			return &p.containers[i]
		}
	}
	return nil
}

func (f *Fold) forgetPod(id event.UID) {
	p := f.pods[id]
	if p == nil {
		return
	}
	delete(f.pods, id)
	if p.namespace.pods--; p.namespace.pods == 0 {
		delete(f.namespaces, p.namespace.name)
	}
	if _, ok := f.grace.managers[id]; ok {
		delete(f.grace.managers, id)
		f.graceChanged()
	}
}

// noteControllerManager takes the grace period from a kube-controller-manager's pod.
func (f *Fold) noteControllerManager(o *event.Pod) {
	if o.ControllerManager == nil || f.grace.managers[o.UID] == *o.ControllerManager {
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
