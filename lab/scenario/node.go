package scenario

import (
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// createNode creates a Ready node without a kubelet, and its Lease.
func createNode(l *Lab, name string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	created := create(l, l.Client.CoreV1().Nodes(), node)
	// Create the Lease when all watchers know the node, because a Lease of an unknown node does not count as a
	// heartbeat. The node and the Lease arrive on different watches.
	l.waitUntilSeen(time.Now())
	create(l, l.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: name, UID: created.UID}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: new(int32(40)), RenewTime: new(metav1.NowMicro())},
	})
}

// renewLease sets the renewTime of a Lease. The parameter clock is the current time according to the node.
func renewLease(l *Lab, name string, clock time.Time) {
	patch(l, l.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease), name, fmt.Sprintf(`{"spec":{"renewTime":%q}}`, clock.UTC().Format(metav1.RFC3339Micro)))
}

// flapNode makes a node not ready for 200 ms.
func flapNode(l *Lab, name string) {
	patchNode(l, name, readyAs(corev1.ConditionFalse))
	l.Sleep(200 * time.Millisecond)
	patchNode(l, name, readyAs(corev1.ConditionTrue))
}

// readyAs returns a Ready condition with the current time.
func readyAs(status corev1.ConditionStatus) string {
	reason := map[corev1.ConditionStatus]string{
		corev1.ConditionTrue: "KubeletReady", corev1.ConditionFalse: "KubeletNotReady", corev1.ConditionUnknown: "NodeStatusUnknown",
	}[status]
	return fmt.Sprintf(`{"type":"Ready","status":%q,"reason":%q,"lastHeartbeatTime":%[3]s,"lastTransitionTime":%[3]s}`,
		status, reason, now())
}

// patchNode sets conditions in a node's status, which are separated by commas.
func patchNode(l *Lab, name, conditions string) {
	patch(l, l.Client.CoreV1().Nodes(), name, `{"status":{"conditions":[`+conditions+`]}}`, "status")
}

func cordon(l *Lab, node string) {
	patch(l, l.Client.CoreV1().Nodes(), node, `{"spec":{"unschedulable":true}}`)
}

func setTaints(l *Lab, node, taints string) {
	patch(l, l.Client.CoreV1().Nodes(), node, `{"spec":{"taints":`+taints+`}}`)
}
