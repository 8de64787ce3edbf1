package decode

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"

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

// container reads a container from the spec, and its status from the status list with the given field number.
func (r *Reader) container(spec, status []byte, statuses protowire.Number) event.Container {
	f := r.fields(spec)
	container := event.Container{Name: r.text(f[containerName]), Image: r.text(f[containerImage])}
	for value := range r.list(status, statuses).each {
		if s := r.fields(value); string(s[1]) == container.Name {
			r.containerStatus(s, &container)
			break
		}
	}
	return container
}

// containerStatus reads a ContainerStatus. The API allows only one state. If several are set, the running state takes
// precedence over the terminated and waiting states.
func (r *Reader) containerStatus(status fields, container *event.Container) {
	container.Ready, container.Restarts, container.ID = boolean(status[4]), int32(integer(status[5])), r.text(status[8])
	container.LastExitCode, _ = r.terminated(r.fields(status[3])[3])
	switch state := r.fields(status[2]); {
	case state[2] != nil:
		container.State, container.Started = "running", r.time(r.field(state[2], 1), time.Second)
	case state[3] != nil:
		container.State = "terminated"
		container.ExitCode, container.Started = r.terminated(state[3])
	default:
		container.State = "waiting" // the default if no state is specified (see corev1.ContainerState)
	}
}

// terminated reads a ContainerStateTerminated.
func (w *wire) terminated(data []byte) (exitCode int32, started time.Time) {
	f := w.fields(data)
	return int32(integer(f[1])), w.time(f[5], time.Second)
}
