package kube

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func slimPod(pod *corev1.Pod) *event.Pod {
	slim := &event.Pod{
		Meta:              slimMeta(&pod.ObjectMeta),
		Node:              pod.Spec.NodeName,
		Phase:             string(pod.Status.Phase),
		Reason:            pod.Status.Reason,
		Gates:             len(pod.Spec.ReadinessGates),
		IPs:               podIPs(&pod.Status),
		HostNetwork:       pod.Spec.HostNetwork,
		Containers:        slimContainers(pod),
		ControllerManager: controllerManager(pod),
	}
	if pod.DeletionTimestamp != nil {
		slim.Deletion = utc(*pod.DeletionTimestamp)
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		slim.Owner = owner.Kind + "/" + owner.Name
	}
	slimConditions(pod, slim)
	return slim
}

func slimConditions(pod *corev1.Pod, slim *event.Pod) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		switch c.Type {
		case corev1.PodReady:
			slim.Ready = &event.Condition{
				Status: statusOf(c.Status), Reason: c.Reason, Message: c.Message,
				Transition: utc(c.LastTransitionTime), Writer: readyWriter(pod.ManagedFields),
			}
		case corev1.ContainersReady:
			slim.ContainersReady = statusOf(c.Status)
		case corev1.DisruptionTarget:
			if c.Status == corev1.ConditionTrue {
				slim.Disruption = c.Reason
			}
		}
	}
	for i := range pod.Spec.ReadinessGates {
		if gate := pod.Spec.ReadinessGates[i].ConditionType; !isTrue(pod.Status.Conditions, gate) {
			slim.GatesNotReady = append(slim.GatesNotReady, string(gate))
		}
	}
}

func isTrue(conditions []corev1.PodCondition, conditionType corev1.PodConditionType) bool {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

func podIPs(status *corev1.PodStatus) []string {
	if len(status.PodIPs) == 0 {
		if status.PodIP == "" {
			return nil
		}
		return []string{status.PodIP}
	}
	ips := make([]string, len(status.PodIPs))
	for i := range status.PodIPs {
		ips[i] = status.PodIPs[i].IP
	}
	return ips
}
