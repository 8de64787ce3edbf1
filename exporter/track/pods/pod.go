package pods

import (
	"bytes"
	"fmt"
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
	// `runs` holds what runs in the first containers, in the order of the spec, and moreRuns in the others.
	runs     [2]run
	moreRuns *[]run
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
	images images
	// gated is set if the pods have a readiness gate. Gates can only be set when a pod is created.
	gated bool
}

// maxEnd is the longest end of a pod's name that is stored separately. Controllers add 5 random characters, or a number.
const maxEnd = 8

// images lists the names and images of a pod's containers, in the order of the spec.
type images string

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

// run is what runs in a container.
type run struct {
	// id is half of a hash of the container ID. A restart usually changes the container ID.
	id       uint32
	restarts int32
}

func runOf(c *event.Container) run { return run{containerID(c.ID), c.Restarts} }

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
	if more := len(o.Containers) - len(p.runs); more > 0 && (p.moreRuns == nil || len(*p.moreRuns) != more) {
		rest := make([]run, more)
		p.moreRuns = &rest
	}
	for i := range o.Containers {
		*p.run(i) = runOf(&o.Containers[i])
	}
}

// run returns what runs in the container with the given index in template.images.
func (p *Pod) run(i int) *run {
	if i < len(p.runs) {
		return &p.runs[i]
	}
	return &(*p.moreRuns)[i-len(p.runs)]
}

// container returns what runs in the container with this name, and its image. It returns nil if there is none.
func (p *Pod) container(name string) (is *run, image string) {
	i := 0
	for line := range strings.Lines(string(p.template.Value().images)) {
		if of, image, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "="); of == name {
			return p.run(i), image
		}
		i++
	}
	return nil, ""
}

// setTemplate updates what the pod has in common with others.
func (p *Pod) setTemplate(o *event.Pod) {
	is, owner := p.template.Value(), ownerOf(o)
	if is.owner != owner || !is.images.are(o) {
		is.owner, is.images = owner, imagesOf(o)
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

func imagesOf(o *event.Pod) images {
	var all strings.Builder
	for i := range o.Containers {
		fmt.Fprintf(&all, "%s=%s\n", o.Containers[i].Name, o.Containers[i].Image)
	}
	return images(all.String())
}

// are reports whether a pod has these images. It is called for each event, so it does not build the list of the pod.
func (s images) are(o *event.Pod) bool {
	rest := string(s)
	for i := range o.Containers {
		for _, part := range [...]string{o.Containers[i].Name, "=", o.Containers[i].Image, "\n"} {
			after, found := strings.CutPrefix(rest, part)
			if !found {
				return false
			}
			rest = after
		}
	}
	return rest == ""
}

// compareContainers counts in-place updates, and container restarts during which Ready stayed True. It reports whether
// an image changed. A write that changes several images counts as one update.
func (x *Pods) compareContainers(p *Pod, e event.Event, o *event.Pod, stayedReady bool) (updated bool) {
	for i := range o.Containers {
		c := &o.Containers[i]
		before, image := p.container(c.Name)
		if before == nil {
			continue
		}
		updated = updated || image != c.Image
		if *before != runOf(c) {
			p.note().replaced, p.note().updateDone = true, stayedReady
			p.past.staleTold = p.past.staleTold && !stayedReady
		}
		if c.State == "terminated" && stayedReady && p.was().containerEndedAt == 0 {
			p.note().containerEndedAt, p.past.staleTold = x.watches.Moment(e.Seen), false
		}
		if stayedReady && c.Restarts > before.restarts {
			p.namespace().SilentRestarts++
			x.found.Add(transition.PodRestartedSilently{At: transition.At{Time: e.Seen}, Pod: p.named()})
		}
	}
	if updated {
		is := p.template.Value()
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
