package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// Fields of PodSpec.
const (
	specContainers     = 2
	specNodeName       = 10
	specInitContainers = 20
	specTolerations    = 22
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

func (r *Reader) pod(data, metaData []byte, meta event.Meta) *event.Pod {
	pod := &event.Pod{Meta: meta, Labels: r.labels(metaData)}
	spec, status := r.field(data, objectSpec), r.field(data, objectStatus)
	r.podMeta(metaData, pod)
	r.podStatus(status, pod)
	r.podConditions(metaData, pod)
	r.podSpec(spec, pod) // needs r.conditions for the readiness gates
	r.containers(spec, status, pod)
	if pod.Labels["component"] == controllerManagerName {
		pod.ControllerManager = r.controllerManager(spec)
	}
	return pod
}

func (r *Reader) podMeta(metaData []byte, pod *event.Pod) {
	m := r.message(metaData)
	for m.next() {
		switch m.number {
		case metaDeletion:
			pod.DeletionTimestamp = m.metaTime()
		case metaOwners:
			if o := r.owner(m.bytes); o.controller && pod.Owner == "" {
				pod.Owner = string(o.kind) + "/" + string(o.name)
			}
		}
	}
}

// podCondition is a PodCondition.
type podCondition struct{ kind, status, transition, reason, message []byte }

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
			r.conditions = append(r.conditions, r.podCondition(m.bytes))
		}
	}
}

func (r *Reader) podCondition(data []byte) (c podCondition) {
	r.readFields(data, fieldTarget{1, &c.kind}, fieldTarget{2, &c.status}, fieldTarget{4, &c.transition}, fieldTarget{5, &c.reason}, fieldTarget{6, &c.message})
	return c
}

func (r *Reader) podConditions(metaData []byte, pod *event.Pod) {
	for i := range r.conditions {
		c := &r.conditions[i]
		switch string(c.kind) {
		case "Ready":
			pod.Ready = &event.Condition{
				Status: event.ParseStatus(string(c.status)), Reason: r.text(c.reason), Message: r.text(c.message),
				LastTransitionTime: r.metaTime(c.transition), Writer: r.writer(metaData, "status", readyStatusPath),
			}
		case "ContainersReady":
			pod.ContainersReady = event.ParseStatus(string(c.status))
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
		case specTolerations:
			r.tolerate(m.bytes, pod)
		}
	}
	r.tolerateNothingElse(pod)
}

// isTrue reports whether the pod's first condition of this type is True.
func (r *Reader) isTrue(kind []byte) bool {
	for i := range r.conditions {
		if string(r.conditions[i].kind) == string(kind) {
			return string(r.conditions[i].status) == "True"
		}
	}
	return false
}
