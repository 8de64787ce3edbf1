package decode

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Fields of Container.
const (
	containerName          = 1
	containerImage         = 2
	containerCommand       = 3
	containerArgs          = 4
	containerRestartPolicy = 24
)

// containers reads the containers that the Ready condition depends on: all ordinary containers, and the sidecars among
// the init containers (see GenerateContainersReadyCondition in pkg/kubelet/status).
func (r *Reader) containers(spec, status []byte, pod *event.Pod) {
	number := r.count(spec, specContainers)
	if number == 0 {
		return
	}
	pod.Containers = make([]event.Container, 0, number)
	m := r.message(spec)
	for m.next() {
		if m.number == specContainers {
			pod.Containers = append(pod.Containers, r.container(m.bytes, status, statusContainerStatuses))
		}
	}
	m = r.message(spec)
	for m.next() {
		if m.number == specInitContainers && string(r.field(m.bytes, containerRestartPolicy)) == "Always" {
			pod.Containers = append(pod.Containers, r.container(m.bytes, status, statusInitContainerStatuses))
		}
	}
}

// container reads a container from the spec, and its status from the status list with the given field number.
func (r *Reader) container(spec, status []byte, statuses int32) event.Container {
	var name, image []byte
	r.readFields(spec, fieldTarget{containerName, &name}, fieldTarget{containerImage, &image})
	container := event.Container{Name: r.text(name), Image: r.text(image)}
	m := r.message(status)
	for m.next() {
		if int32(m.number) == statuses && string(r.field(m.bytes, 1)) == string(name) {
			r.containerStatus(m.bytes, &container)
			break
		}
	}
	return container
}

func (r *Reader) containerStatus(data []byte, container *event.Container) {
	// This is the default if no state is specified (see corev1.ContainerState).
	container.State = "waiting"
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 2:
			r.containerState(m.bytes, container)
		case 3:
			if last := r.field(m.bytes, 3); last != nil {
				container.LastExitCode, _ = r.terminated(last)
			}
		case 4:
			container.Ready = m.bool()
		case 5:
			container.Restarts = m.int32()
		case 8:
			container.ID = m.text()
		}
	}
}

// containerState reads a ContainerState. The API allows only one state. If several are set, the running state takes
// precedence over the terminated and waiting states.
func (r *fieldReader) containerState(data []byte, container *event.Container) {
	var running, terminated []byte
	r.readFields(data, fieldTarget{2, &running}, fieldTarget{3, &terminated})
	switch {
	case running != nil:
		container.State, container.Started = "running", r.metaTime(r.field(running, 1))
	case terminated != nil:
		container.State = "terminated"
		container.ExitCode, container.Started = r.terminated(terminated)
	}
}

// terminated reads a ContainerStateTerminated.
func (r *fieldReader) terminated(data []byte) (exitCode int32, started time.Time) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			exitCode = m.int32()
		case 5:
			started = m.metaTime()
		}
	}
	return exitCode, started
}
