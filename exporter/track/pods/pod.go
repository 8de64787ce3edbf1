package pods

import (
	"bytes"
	"hash/maphash"
	"slices"
	"strings"
	"unique"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// text is a string that many objects share, such as the name of a node or an owner.
type text = unique.Handle[string]

// Pod is the stored state of a pod. Pods are the most numerous objects, so the fields are ordered to avoid padding, and what
// many pods have in common is stored once.
type Pod struct {
	ID       event.UID
	template unique.Handle[template]
	node     text
	// `end` is the end of the pod's name, after template.begins, padded with zeros.
	end [maxEnd]byte
	// ReadyChangedAt is the time at which Ready last changed, or 0.
	ReadyChangedAt event.Moment
	// `past` is nil if nothing has happened to the pod.
	past *past
	// `services` lists the Services that are known to contain the pod.
	services *ServiceList
	runs     runs
	ready    event.Status
	running  bool
	// `seen` is set if the pod has been seen since the last list began.
	seen bool
	// everReady reports whether the pod has been Ready at any time since it was first seen. A pod that has never been
	// Ready is still starting.
	everReady bool
	// RemovalCause is the reason why the pod's addresses are removed permanently, or Unknown if they stay.
	RemovalCause cause.Cause
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

// maxEnd is the longest end of a pod's name that is stored separately. Controllers add 5 random characters, or a number.
const maxEnd = 8

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

// runs shows which container was replaced or restarted: a hash of its ID and its restarts. If there are more containers than
// hashes, several containers share one.
type runs [4]uint32

// seed makes hashes that are compared only with each other.
var seed = maphash.MakeSeed()

func runsOf(o *event.Pod) (is runs) {
	for i := range o.Containers {
		c := &o.Containers[i]
		is[i%len(is)] ^= uint32(maphash.String(seed, c.ID)) + uint32(c.Restarts)
	}
	return is
}

func imagesOf(o *event.Pod) (sum uint64) {
	for i := range o.Containers {
		sum = 31*sum + maphash.String(seed, o.Containers[i].Image)
	}
	return sum
}

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
	owner := p.owner().name
	return p.node.Value() != "" && !strings.HasPrefix(owner, "DaemonSet/") && !strings.HasPrefix(owner, "Node/")
}

func (p *Pod) named() transition.Pod {
	return transition.Pod{Namespace: p.namespace().Name, Name: p.name(), Node: p.node.Value(), Owner: p.owner().name}
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
	p.seen, p.ready, p.running = true, readyOf(o), o.Phase == "Running"
	setText(&p.node, o.Node)
	p.setTemplate(o)
	p.runs = runsOf(o)
}

// setTemplate updates what the pod has in common with others.
func (p *Pod) setTemplate(o *event.Pod) {
	is, owner, images := p.template.Value(), ownerOf(o), imagesOf(o)
	if is.owner != owner || is.images != images {
		is.owner, is.images = owner, images
		p.template = unique.Make(is)
	}
}

func newPod(o *event.Pod, in *namespace) *Pod {
	p := &Pod{ID: o.UID, RemovalCause: removalCauseOf(o)}
	begins, end := splitName(o.Name)
	copy(p.end[:], end)
	p.template = unique.Make(template{in, ownerOf(o), begins, imagesOf(o), o.Gates > 0})
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

func (p *Pod) name() string {
	return p.template.Value().begins + string(bytes.TrimRight(p.end[:], "\x00"))
}

func (p *Pod) namespace() *namespace { return p.template.Value().namespace }

func (p *Pod) owner() owner { return p.template.Value().owner }

// compareContainers counts in-place updates, and container restarts during which Ready stayed True. It reports whether
// an image changed. A write that changes several images counts as one update, and one of several restarts as one restart.
func (x *Pods) compareContainers(p *Pod, e event.Event, o *event.Pod, stayedReady bool) (updated bool) {
	is := p.template.Value()
	if is.images == 0 || len(o.Containers) == 0 {
		return false // the containers are unknown
	}
	if p.runs != runsOf(o) {
		p.note().replaced, p.note().updateDone = true, stayedReady
		p.past.staleTold = p.past.staleTold && !stayedReady
		if stayedReady && slices.ContainsFunc(o.Containers, func(c event.Container) bool { return c.Restarts > 0 }) {
			is.namespace.SilentRestarts++
			x.found.Add(transition.PodRestartedSilently{At: transition.At{Time: e.Seen}, Pod: p.named()})
		}
	}
	if stayedReady && p.was().containerEndedAt == 0 && slices.ContainsFunc(o.Containers, func(c event.Container) bool { return c.State == "terminated" }) {
		p.note().containerEndedAt, p.past.staleTold = x.watches.Moment(e.Seen), false
	}
	if updated = is.images != imagesOf(o); updated {
		*p.note() = past{loss: p.was().loss, updatedAt: x.watches.Moment(e.Seen), containerEndedAt: p.was().containerEndedAt, inRotation: p.IsReady()}
		is.namespace.InPlaceUpdates++
		if !is.gated {
			is.namespace.UngatedUpdates++
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
