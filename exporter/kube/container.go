package kube

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// slimContainers makes the containers that count for readiness: of the init containers
// only the sidecars (pkg/kubelet/status, GenerateContainersReadyCondition).
func slimContainers(pod *corev1.Pod) []event.Container {
	if len(pod.Spec.Containers) == 0 {
		return nil
	}
	containers := make([]event.Container, 0, len(pod.Spec.Containers))
	for i := range pod.Spec.Containers {
		containers = append(containers, slimContainer(&pod.Spec.Containers[i], pod.Status.ContainerStatuses))
	}
	for i := range pod.Spec.InitContainers {
		if spec := &pod.Spec.InitContainers[i]; or(spec.RestartPolicy, "") == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, slimContainer(spec, pod.Status.InitContainerStatuses))
		}
	}
	return containers
}

func slimContainer(spec *corev1.Container, statuses []corev1.ContainerStatus) event.Container {
	slim := event.Container{Name: spec.Name, Image: spec.Image}
	for i := range statuses {
		if statuses[i].Name == spec.Name {
			addStatus(&slim, &statuses[i])
			break
		}
	}
	return slim
}

func addStatus(slim *event.Container, status *corev1.ContainerStatus) {
	slim.ID, slim.Ready, slim.Restarts = status.ContainerID, status.Ready, status.RestartCount
	switch state := &status.State; {
	case state.Running != nil:
		slim.State, slim.Started = "running", utc(state.Running.StartedAt)
	case state.Terminated != nil:
		slim.State, slim.Started = "terminated", utc(state.Terminated.StartedAt)
		slim.Reason, slim.ExitCode = state.Terminated.Reason, state.Terminated.ExitCode
	case state.Waiting != nil:
		slim.State, slim.Reason = "waiting", state.Waiting.Reason
	default:
		// ContainerState: "If none of them is specified, the default one is ContainerStateWaiting."
		slim.State = "waiting"
	}
	if last := status.LastTerminationState.Terminated; last != nil {
		slim.LastReason, slim.LastExitCode = last.Reason, last.ExitCode
	}
}
