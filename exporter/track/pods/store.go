package pods

import (
	"bytes"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// store holds the pods, including those that were deleted recently.
type store struct {
	pods      *table[event.UID, Pod]
	families  *table[template, family]
	nodeNames *table[string, string]
	pasts     *table[event.UID, past]
}

func newStore() store {
	return store{
		newTable(func(p *Pod) *event.UID { return &p.ID }, hashUID),
		newTable(func(f *family) *template { return &f.template }, func(t template) uint32 { return hashText(t.begins) ^ 31*hashText(t.namespace.Name) ^ uint32(t.images) }),
		newTable(func(s *string) *string { return s }, hashText),
		newTable(func(w *past) *event.UID { return &w.of }, hashUID),
	}
}

// was returns the pod's past, to read it.
func (x *store) was(p *Pod) *past { return x.pasts.at(x.pasts.find(p.ID)) }

// note returns the pod's past, to change it.
func (x *store) note(p *Pod) *past {
	if n := x.pasts.find(p.ID); n != 0 {
		return x.pasts.at(n)
	}
	return x.pasts.at(x.pasts.take(p.ID))
}

// forget drops a pod.
func (x *store) forget(id event.UID) {
	if n := x.pods.find(id); n != 0 {
		p := x.pods.at(n)
		x.families.release(p.family)
		x.nodeNames.release(p.node)
		x.pasts.release(x.pasts.find(id))
		x.pods.release(n)
	}
}

// Find returns an existing pod, or nil. The result is valid until the next event.
func (x *store) Find(id event.UID) *Pod {
	if p, deleted := x.Recall(id); !deleted {
		return p
	}
	return nil
}

// Recall returns a pod that exists or was deleted recently, or nil.
func (x *store) Recall(id event.UID) (p *Pod, deleted bool) {
	n := x.pods.find(id)
	if n == 0 {
		return nil, false
	}
	p = x.pods.at(n)
	return p, p.deleted
}

// Node returns the name of the pod's node, or "" if there is none.
func (x *store) Node(p *Pod) string { return *x.nodeNames.at(p.node) }

// of returns what the pod has in common with others.
func (x *store) of(p *Pod) *family { return x.families.at(p.family) }

func (x *store) name(p *Pod) string {
	return x.of(p).begins + string(bytes.TrimRight(p.end[:], "\x00"))
}

func (x *store) named(p *Pod) transition.Pod {
	is := x.of(p)
	return transition.Pod{Namespace: is.namespace.Name, Name: x.name(p), Node: x.Node(p), Owner: is.owner.name}
}

// Cause returns the reason why the pod is not Ready.
func (x *store) Cause(p *Pod) cause.Cause {
	if p.IsReady() {
		return cause.Unknown
	}
	return x.lossCause(p)
}

// lossCause returns the cause of the pod's last loss of readiness.
func (x *store) lossCause(p *Pod) cause.Cause {
	if w := x.was(p).loss; w != nil {
		return w.Cause
	}
	return cause.Unknown
}

// occupies reports whether the pod runs on a node and would be evicted in a drain of the node. A drain does not evict
// DaemonSet pods and static pods.
func (x *store) occupies(p *Pod) bool {
	owner := x.of(p).owner.name
	return p.running && p.node != 0 && !strings.HasPrefix(owner, "DaemonSet/") && !strings.HasPrefix(owner, "Node/")
}

// update stores the pod's newest state.
func (x *store) update(p *Pod, o *event.Pod) {
	p.seen, p.ready, p.running, p.runs, p.restarts = true, readyOf(o), o.Phase == "Running", runsOf(o), restartsOf(o)
	if before := p.node; *x.nodeNames.at(before) != o.Node {
		if p.node = 0; o.Node != "" {
			p.node = x.nodeNames.take(o.Node)
		}
		x.nodeNames.release(before)
	}
	is := x.of(p).template
	if is.owner, is.images = ownerOf(o), imagesOf(o); is != x.of(p).template {
		x.setTemplate(p, is)
	}
}

// setTemplate changes the template of a pod. Its Services stay.
func (x *store) setTemplate(p *Pod, to template) {
	before := p.family
	p.family = x.families.take(to)
	for _, s := range x.families.at(before).services {
		x.JoinService(p, s)
	}
	x.families.release(before)
}

// newPod adds a pod to a namespace.
func (x *store) newPod(o *event.Pod, in *namespace) *Pod {
	x.forget(o.UID)
	p := x.pods.at(x.pods.take(o.UID))
	begins, end := splitName(o.Name)
	copy(p.end[:], end)
	p.family, p.RemovalCause = x.families.take(template{in, ownerOf(o), begins, imagesOf(o), o.Gates > 0}), removalCauseOf(o)
	return p
}

// splitName splits a pod's name after the last dash.
func splitName(name string) (begins, end string) {
	at := strings.LastIndexByte(name, '-') + 1
	if len(name)-at > maxEnd {
		at = len(name)
	}
	return name[:at], name[at:]
}
