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

// containers makes the containers that count for readiness: of the init containers
// only the sidecars (pkg/kubelet/status, GenerateContainersReadyCondition).
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

func (r *Reader) container(spec, status []byte, statuses int32) event.Container {
	var slim event.Container
	var name []byte
	m := r.message(spec)
	for m.next() {
		switch m.number {
		case containerName:
			name = m.bytes
		case containerImage:
			slim.Image = m.text()
		}
	}
	slim.Name = r.text(name)
	m = r.message(status)
	for m.next() {
		if int32(m.number) == statuses && string(r.field(m.bytes, 1)) == string(name) {
			r.containerStatus(m.bytes, &slim)
			break
		}
	}
	return slim
}

func (r *Reader) containerStatus(data []byte, slim *event.Container) {
	// ContainerState: "If none of them is specified, the default one is ContainerStateWaiting."
	slim.State = "waiting"
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 2:
			r.containerState(m.bytes, slim)
		case 3:
			if last := r.field(m.bytes, 3); last != nil {
				slim.LastExitCode, _ = r.termination(last)
			}
		case 4:
			slim.Ready = m.bool()
		case 5:
			slim.Restarts = m.int32()
		case 8:
			slim.ID = m.text()
		}
	}
}

// containerState reads the one that is set; of several, which the API forbids, running goes
// before terminated, and that before waiting.
func (r *Reader) containerState(data []byte, slim *event.Container) {
	running, terminated := r.field(data, 2), r.field(data, 3)
	switch {
	case running != nil:
		slim.State = "running"
		m := r.message(running)
		for m.next() {
			if m.number == 1 {
				slim.Started = m.seconds()
			}
		}
	case terminated != nil:
		slim.State = "terminated"
		slim.ExitCode, slim.Started = r.termination(terminated)
	}
}

// termination reads a ContainerStateTerminated.
func (r *Reader) termination(data []byte) (exitCode int32, started time.Time) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			exitCode = m.int32()
		case 5:
			started = m.seconds()
		}
	}
	return exitCode, started
}
