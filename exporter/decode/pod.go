package decode

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

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

func (r *Reader) pod(x encoded) *event.Pod {
	status := r.fields(x.status)
	pod := &event.Pod{
		Meta: r.meta(x.meta), Labels: r.labels(x.meta), Phase: r.text(status[statusPhase]), Reason: r.text(status[statusReason]),
	}
	r.podMeta(x.meta, pod)
	r.podConditions(x, pod)
	r.podSpec(x, pod)
	if pod.Labels["component"] == controllerManagerName {
		pod.ControllerManager = r.controllerManager(x.spec)
	}
	return pod
}

func (r *Reader) podMeta(metaData []byte, pod *event.Pod) {
	for number, value := range r.message(metaData).each {
		switch number {
		case metaDeletion:
			pod.DeletionTimestamp = r.time(value, time.Second)
		case metaOwners:
			if o := r.fields(value); boolean(o[ownerController]) && pod.Owner == "" {
				pod.Owner = string(o[ownerKind]) + "/" + string(o[ownerName])
			}
		}
	}
}

func (r *Reader) podConditions(x encoded, pod *event.Pod) {
	for value := range r.list(x.status, statusConditions).each {
		switch c := r.fields(value); string(c[1]) {
		case "Ready":
			pod.Ready = r.condition(c)
			writer, _ := r.writers(x.meta, "status", readyStatusPath)
			pod.Ready.Writer = r.text(writer)
		case "ContainersReady":
			pod.ContainersReady = event.ParseStatus(string(c[2]))
		case "DisruptionTarget":
			if string(c[2]) == "True" {
				pod.Disruption = r.text(c[5])
			}
		}
	}
}

// podSpec reads a pod's spec. Of the containers, it reads those that the Ready condition depends on: all ordinary
// containers, and the sidecars among the init containers (see GenerateContainersReadyCondition in pkg/kubelet/status).
// The init containers follow the ordinary ones.
func (r *Reader) podSpec(x encoded, pod *event.Pod) {
	if n := r.list(x.spec, specContainers).len(); n > 0 {
		pod.Containers = make([]event.Container, 0, n)
	}
	for number, value := range r.message(x.spec).each {
		switch number {
		case specContainers:
			pod.Containers = append(pod.Containers, r.container(value, x.status, statusContainerStatuses))
		case specInitContainers:
			if pod.Containers != nil && string(r.field(value, containerRestartPolicy)) == "Always" {
				pod.Containers = append(pod.Containers, r.container(value, x.status, statusInitContainerStatuses))
			}
		case specNodeName:
			pod.Node = r.text(value)
		case specReadinessGates:
			pod.Gates++
			if gate := r.field(value, 1); !r.hasCondition(x.status, gate) {
				pod.GatesNotReady = append(pod.GatesNotReady, r.text(gate))
			}
		case specTolerations:
			r.tolerate(value, pod)
		}
	}
	none := r.shared(event.Toleration{})
	pod.ToleratesNotReady, pod.ToleratesUnreachable = cmp.Or(pod.ToleratesNotReady, none), cmp.Or(pod.ToleratesUnreachable, none)
}

// hasCondition reports whether the pod's first condition of this type is True.
func (w *wire) hasCondition(status, kind []byte) bool {
	for value := range w.list(status, statusConditions).each {
		if c := w.fields(value); string(c[1]) == string(kind) {
			return string(c[2]) == "True"
		}
	}
	return false
}
