package decode

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Fields of PodSpec.
const (
	specContainers     = 2
	specNodeName       = 10
	specInitContainers = 20
	specReadinessGates = 28
)

// Fields of PodStatus.
const (
	statusPhase                 = 1
	statusConditions            = 2
	statusReason                = 4
	statusContainerStatuses     = 8
	statusInitContainerStatuses = 10
)

func (r *Reader) pod(data, meta []byte, slim event.Meta) *event.Pod {
	pod := &event.Pod{Meta: slim}
	podSpec, podStatus := r.field(data, spec), r.field(data, status)
	r.podMeta(meta, pod)
	r.podStatus(podStatus, pod)
	r.podConditions(meta, pod)
	r.podSpec(podSpec, pod) // whose readiness gates are looked up among the conditions
	r.containers(podSpec, podStatus, pod)
	if string(r.entry(meta, metaLabels, "component")) == controllerManagerName {
		pod.ControllerManager = r.controllerManager(podSpec)
	}
	return pod
}

func (r *Reader) podMeta(meta []byte, pod *event.Pod) {
	m := r.message(meta)
	for m.next() {
		switch m.number {
		case metaDeletion:
			pod.Deletion = m.seconds()
		case metaOwners:
			if o := r.owner(m.bytes); o.controller && pod.Owner == "" {
				pod.Owner = string(o.kind) + "/" + string(o.name)
			}
		}
	}
}

func (r *Reader) podStatus(data []byte, pod *event.Pod) {
	r.conditions = r.conditions[:0]
	m := r.message(data)
	for m.next() {
		switch m.number {
		case statusPhase:
			pod.Phase = m.text()
		case statusReason:
			pod.Reason = m.text()
		case statusConditions:
			r.conditions = append(r.conditions, r.condition(m.bytes))
		}
	}
}

// condition is a PodCondition.
type condition struct {
	kind, status, reason, message []byte
	transition                    time.Time
}

func (r *Reader) condition(data []byte) condition {
	var c condition
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			c.kind = m.bytes
		case 2:
			c.status = m.bytes
		case 4:
			c.transition = m.seconds()
		case 5:
			c.reason = m.bytes
		case 6:
			c.message = m.bytes
		}
	}
	return c
}

func (r *Reader) podConditions(meta []byte, pod *event.Pod) {
	for i := range r.conditions {
		c := &r.conditions[i]
		switch string(c.kind) {
		case "Ready":
			pod.Ready = &event.Condition{
				Status: statusOf(c.status), Reason: r.text(c.reason), Message: r.text(c.message),
				Transition: c.transition, Writer: r.writer(meta, "status", readyStatusPath),
			}
		case "ContainersReady":
			pod.ContainersReady = statusOf(c.status)
		case "DisruptionTarget":
			if string(c.status) == "True" {
				pod.Disruption = r.text(c.reason)
			}
		}
	}
}

func (r *Reader) podSpec(data []byte, pod *event.Pod) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case specNodeName:
			pod.Node = m.text()
		case specReadinessGates:
			pod.Gates++
			if gate := r.field(m.bytes, 1); !r.isTrue(gate) {
				pod.GatesNotReady = append(pod.GatesNotReady, r.text(gate))
			}
		}
	}
}

// isTrue looks at the first condition of the kind.
func (r *Reader) isTrue(kind []byte) bool {
	for i := range r.conditions {
		if string(r.conditions[i].kind) == string(kind) {
			return string(r.conditions[i].status) == "True"
		}
	}
	return false
}
