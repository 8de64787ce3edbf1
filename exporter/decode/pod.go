package decode

import (
	"cmp"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Fields of PodSpec and Container.
const (
	specContainers     = 2
	specNodeName       = 10
	specInitContainers = 20
	specTolerations    = 22
	specReadinessGates = 28

	containerRestartPolicy = 24
)

// Fields of PodStatus.
const (
	statusConditions            = 2
	statusContainerStatuses     = 8
	statusInitContainerStatuses = 10
)

func (r *Reader) pod(x encoded) *event.Pod {
	status := r.fields(x.status)
	pod := &event.Pod{Meta: r.meta(x.meta), Labels: r.labels(x.meta, metaLabels), Phase: r.text(status[1]), Message: r.text(status[3]), Reason: r.text(status[4])}
	for number, value := range r.each(x.meta) {
		switch number {
		case metaDeletion:
			pod.DeletionTimestamp = r.time(value)
		case metaOwners:
			if o := r.fields(value); boolean(o[ownerController]) && pod.Owner == "" {
				pod.Owner = string(o[ownerKind]) + "/" + string(o[ownerName])
			}
		}
	}
	for value := range r.list(x.status, statusConditions) {
		switch c := r.fields(value); string(c[1]) {
		case "Ready":
			pod.Ready = r.condition(c)
		case "ContainersReady":
			pod.ContainersReady = event.ParseStatus(string(c[2]))
		case "PodScheduled":
			if string(c[2]) == "False" {
				pod.Unscheduled = r.condition(c)
			}
		case "DisruptionTarget":
			if string(c[2]) == "True" {
				pod.Disruption, pod.DisruptionMessage = r.text(c[5]), r.text(c[6])
			}
		}
	}
	r.podSpec(x, pod)
	if pod.Labels["component"] == controllerManagerName {
		pod.ControllerManager = r.controllerManager(x.spec)
	}
	return pod
}

// podSpec reads a pod's spec. Of the containers, it reads those that the Ready condition depends on: all ordinary
// containers, and the sidecars among the init containers (see GenerateContainersReadyCondition in pkg/kubelet/status).
// The init containers follow the ordinary ones.
func (r *Reader) podSpec(x encoded, pod *event.Pod) {
	if n := r.count(x.spec, specContainers); n > 0 {
		pod.Containers = make([]event.Container, 0, n)
	}
	statuses, initStatuses, conditions := map[string][]byte{}, map[string][]byte{}, map[string][]byte{}
	r.byName(statuses, x.status, statusContainerStatuses)
	r.byName(initStatuses, x.status, statusInitContainerStatuses)
	for number, value := range r.each(x.spec) {
		switch number {
		case specContainers:
			pod.Containers = append(pod.Containers, r.container(value, statuses))
		case specInitContainers:
			if pod.Containers != nil && string(r.field(value, containerRestartPolicy)) == "Always" {
				pod.Containers = append(pod.Containers, r.container(value, initStatuses))
			}
		case specNodeName:
			pod.Node = r.text(value)
		case specReadinessGates:
			if pod.Gates++; pod.Gates == 1 {
				r.byName(conditions, x.status, statusConditions)
			}
			if gate := r.field(value, 1); string(r.fields(conditions[string(gate)])[2]) != "True" {
				pod.GatesNotReady = append(pod.GatesNotReady, r.text(gate))
			}
		case specTolerations:
			r.tolerate(value, pod)
		}
	}
	none := r.shared(event.Toleration{})
	pod.ToleratesNotReady, pod.ToleratesUnreachable = cmp.Or(pod.ToleratesNotReady, none), cmp.Or(pod.ToleratesUnreachable, none)
}

// byName adds the values of a field by their names, which are in their first field. Of several with the same name, it adds
// the first. A search for each container would take very long for a pod with thousands of them.
func (r *Reader) byName(all map[string][]byte, data []byte, number protowire.Number) {
	for value := range r.list(data, number) {
		if name := r.field(value, 1); all[string(name)] == nil {
			all[r.text(name)] = value
		}
	}
}

// container reads a container from the spec, and its status from the statuses by name.
func (r *Reader) container(spec []byte, statuses map[string][]byte) event.Container {
	f := r.fields(spec)
	container := event.Container{Name: r.text(f[1]), Image: r.text(f[2])}
	if status, ok := statuses[container.Name]; ok {
		s := r.fields(status)
		container.Ready, container.Restarts, container.ID = boolean(s[4]), int32(integer(s[5])), r.text(s[8])
		r.state(s[2], &container)
		container.Starting = container.State == "running" && s[9] != nil && !boolean(s[9])
		if last := r.field(s[3], 3); last != nil {
			container.LastReason, container.LastExitCode = r.exit(r.fields(last))
		}
	}
	return container
}

// state reads a ContainerState. The API allows only one state. If several are set, the running state takes precedence
// over the terminated and waiting states.
func (r *Reader) state(data []byte, c *event.Container) {
	switch f := r.fields(data); {
	case f[2] != nil:
		c.State, c.Started = "running", r.time(r.field(f[2], 1))
	case f[3] != nil:
		terminated := r.fields(f[3])
		c.State, c.Started = "terminated", r.time(terminated[5])
		c.Reason, c.ExitCode = r.exit(terminated)
	default: // waiting is the default if no state is specified (see corev1.ContainerState)
		waiting := r.fields(f[1])
		c.State, c.Reason, c.Message = "waiting", r.text(waiting[1]), r.text(waiting[2])
	}
}

// exit reads the reason and the exit code of a ContainerStateTerminated. The message is not read, because it can contain
// the container's log.
func (r *Reader) exit(terminated fields) (reason string, code int32) {
	return r.text(terminated[3]), int32(integer(terminated[1]))
}

// The taints of failed nodes. They are corev1.TaintNodeNotReady and corev1.TaintNodeUnreachable.
const (
	taintNotReady    = "node.kubernetes.io/not-ready"
	taintUnreachable = "node.kubernetes.io/unreachable"
)

// tolerate reads a toleration. The first toleration that matches a taint applies (see GetMatchingTolerations in
// pkg/apis/core/v1/helper).
func (r *Reader) tolerate(data []byte, pod *event.Pod) {
	f := r.fields(data)
	period := event.Toleration{Forever: true}
	if seconds := f[5]; seconds != nil {
		// The taint eviction controller treats a negative time as 0 (see getMinTolerationTime in
		// pkg/controller/tainteviction).
		period = event.Toleration{Seconds: max(integer(seconds), 0)}
	}
	if pod.ToleratesNotReady == nil && tolerates(f, taintNotReady) {
		pod.ToleratesNotReady = r.shared(period)
	}
	if pod.ToleratesUnreachable == nil && tolerates(f, taintUnreachable) {
		pod.ToleratesUnreachable = r.shared(period)
	}
}

// tolerates implements corev1's Toleration.ToleratesTaint for a taint with the effect NoExecute and no value. The
// numeric operators Lt and Gt never match such a taint.
func tolerates(toleration fields, taint string) bool {
	key, operator, value, effect := toleration[1], toleration[2], toleration[3], toleration[4]
	if len(effect) > 0 && string(effect) != "NoExecute" || len(key) > 0 && string(key) != taint {
		return false
	}
	return string(operator) == "Exists" || len(value) == 0 && (len(operator) == 0 || string(operator) == "Equal")
}

// shared returns a pointer to a value equal to t, from the cache if possible.
func (c *cache) shared(t event.Toleration) *event.Toleration {
	place := uint64(t.Seconds) << 1
	if t.Forever {
		place++
	}
	known := &c.tolerations[place%uint64(len(c.tolerations))]
	if *known == nil || **known != t {
		*known = new(t)
	}
	return *known
}
