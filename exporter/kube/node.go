package kube

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func slimNode(node *corev1.Node) *event.Node {
	slim := &event.Node{
		Meta:           slimMeta(&node.ObjectMeta),
		Unschedulable:  node.Spec.Unschedulable,
		KubeletVersion: node.Status.NodeInfo.KubeletVersion,
		BootID:         node.Status.NodeInfo.BootID,
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == corev1.NodeReady {
			slim.Ready = &event.Condition{
				Status: statusOf(c.Status), Reason: c.Reason, Message: c.Message,
				Heartbeat: utc(c.LastHeartbeatTime), Transition: utc(c.LastTransitionTime),
			}
			break
		}
	}
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		slim.Taints = append(slim.Taints, event.Taint{Key: taint.Key, Effect: string(taint.Effect)})
	}
	return slim
}
