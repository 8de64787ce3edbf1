package scenario

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// createNode creates a Ready node without a kubelet, and its Lease.
func (l *Lab) createNode(ctx context.Context, name string) error {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	created, err := l.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	// Create the Lease when all watchers know the node, because a Lease of an unknown node does not count as a
	// heartbeat. The node and the Lease arrive on different watches.
	if err := l.waitUntilAllSeen(ctx); err != nil {
		return err
	}
	seconds, renewed := int32(40), metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: created.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
	}
	_, err = l.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(ctx, lease, metav1.CreateOptions{})
	return err
}

// renewLease sets the renewTime of a Lease. The parameter clock is the current time according to the node.
func (s *Steps) renewLease(ctx context.Context, name string, clock time.Time) error {
	patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, clock.UTC().Format(metav1.RFC3339Micro))
	_, err := s.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// setNodeReady sets the Ready condition of a node.
func (s *Steps) setNodeReady(ctx context.Context, name string, status corev1.ConditionStatus) error {
	return s.patchNode(ctx, name, readyAs(status))
}

// readyAs returns a Ready condition with the current time.
func readyAs(status corev1.ConditionStatus) string {
	reason := map[corev1.ConditionStatus]string{
		corev1.ConditionTrue: "KubeletReady", corev1.ConditionFalse: "KubeletNotReady", corev1.ConditionUnknown: "NodeStatusUnknown",
	}[status]
	return fmt.Sprintf(`{"type":"Ready","status":%q,"reason":%q,"lastHeartbeatTime":%[3]s,"lastTransitionTime":%[3]s}`,
		status, reason, now())
}

// patchNode sets one condition in a node's status.
func (s *Steps) patchNode(ctx context.Context, name, condition string) error {
	patch := `{"status":{"conditions":[` + condition + `]}}`
	_, err := s.Client.CoreV1().Nodes().Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}
