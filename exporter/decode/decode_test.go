package decode

import (
	"cmp"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const uid = "5a2c0c0e-7d39-4d1c-9fb4-6b6cb0a1d4a1"

var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func apiTime(seconds int) metav1.Time {
	// The API's decoders return local times, so the zone is not UTC.
	return metav1.NewTime(noon.Add(time.Duration(seconds) * time.Second).In(time.FixedZone("", 7200)))
}

// protobuf is an API object that encodes itself as protobuf.
type protobuf interface{ Marshal() ([]byte, error) }

// read encodes an object as the API server does, and decodes it to a slim object.
func read(t testing.TB, kind event.Kind, object protobuf) event.Object {
	t.Helper()
	data, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	o, err := (&Reader{}).Object(kind, data)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// wantSlim compares objects. A test case sets only the fields under test. For fields that the reader always sets,
// wantSlim adds the values of an object without labels and tolerations.
func wantSlim(t *testing.T, got, want event.Object) {
	t.Helper()
	switch o := want.(type) {
	case *event.Node:
		o.Labels = orNone(o.Labels)
	case *event.Pod:
		o.Labels = orNone(o.Labels)
		o.ToleratesNotReady = cmp.Or(o.ToleratesNotReady, &event.Toleration{})
		o.ToleratesUnreachable = cmp.Or(o.ToleratesUnreachable, &event.Toleration{})
	}
	if !reflect.DeepEqual(got, want) {
		g, _ := json.MarshalIndent(got, "", " ")
		w, _ := json.MarshalIndent(want, "", " ")
		t.Errorf("got %s\nwant %s", g, w)
	}
}

func orNone(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

func TestNode(t *testing.T) {
	deletion, added := apiTime(30), apiTime(20)
	for _, c := range []struct {
		name string
		node corev1.Node
		want event.Node
	}{
		{"a node that is empty", corev1.Node{}, event.Node{}},
		{"a node that never reported has no Ready", corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "a", UID: uid},
			Spec:       corev1.NodeSpec{Unschedulable: true},
		}, event.Node{Meta: event.Meta{Name: "a", UID: event.ParseUID(uid)}, Unschedulable: true}},
		{"a node that is not ready", corev1.Node{
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoExecute"}}},
			Status: corev1.NodeStatus{
				NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1.36.3", BootID: "b"},
				Conditions: []corev1.NodeCondition{
					{Type: "MemoryPressure", Status: "True"},
					{Type: "Ready", Status: "False", Reason: "KubeletNotReady", Message: "PLEG", LastHeartbeatTime: apiTime(9), LastTransitionTime: apiTime(5)},
				},
			},
		}, event.Node{
			KubeletVersion: "v1.36.3", BootID: "b",
			Taints: []event.Taint{{Key: "node.kubernetes.io/not-ready", Effect: "NoExecute"}},
			Ready: &event.Condition{
				Status: event.StatusFalse, Reason: "KubeletNotReady", Message: "PLEG",
				LastHeartbeatTime: noon.Add(9 * time.Second), LastTransitionTime: noon.Add(5 * time.Second),
			},
		}},
		{"of the labels only those that are listed", corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			"topology.kubernetes.io/zone": "eu-1a", "karpenter.sh/nodepool": "spot", "kubernetes.io/hostname": "a", "team": "shop", "agentpool": "",
		}}}, event.Node{Labels: map[string]string{"topology.kubernetes.io/zone": "eu-1a", "karpenter.sh/nodepool": "spot", "agentpool": ""}}},
		{"a node that is about to go", corev1.Node{
			ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deletion},
			Spec: corev1.NodeSpec{ProviderID: "aws:///eu-1a/i-0123", Taints: []corev1.Taint{
				{Key: "ToBeDeletedByClusterAutoscaler", Value: "1782907200", Effect: "NoSchedule"},
				{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", TimeAdded: &added},
			}},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
				{Type: "DrainInProgress", Status: "False", Reason: "Done", Message: "all pods left", LastHeartbeatTime: apiTime(9), LastTransitionTime: apiTime(5)},
				{Type: "Drained", Status: "True", Reason: "Done"},
				{Type: "DrainedByHand", Status: "True"},
				{Type: "MaintenancePlanned", Status: "odd"},
				{Type: "MaintenanceInProgress", Status: "True"},
				{Type: "GracefulNodeShutdownInProgress", Status: "True"},
			}},
		}, event.Node{
			ProviderID: "aws:///eu-1a/i-0123", DeletionTimestamp: noon.Add(30 * time.Second),
			Taints: []event.Taint{
				{Key: "ToBeDeletedByClusterAutoscaler", Value: "1782907200", Effect: "NoSchedule"},
				{Key: "node.kubernetes.io/unreachable", Effect: "NoExecute", Added: noon.Add(20 * time.Second)},
			},
			Lifecycle: []event.LifecycleCondition{
				{Type: event.DrainInProgress, Status: event.StatusFalse, Reason: "Done", LastTransitionTime: noon.Add(5 * time.Second)},
				{Type: event.Drained, Status: event.StatusTrue, Reason: "Done"},
				{Type: event.MaintenancePlanned},
				{Type: event.MaintenanceInProgress, Status: event.StatusTrue},
				{Type: event.GracefulNodeShutdownInProgress, Status: event.StatusTrue},
			},
		}},
	} {
		t.Run(c.name, func(t *testing.T) { wantSlim(t, read(t, event.KindNode, &c.node), &c.want) })
	}
}

func TestLease(t *testing.T) {
	duration, renew := int32(40), metav1.NewMicroTime(noon.Add(1500*time.Microsecond).Local())
	for _, c := range []struct {
		name  string
		lease coordinationv1.Lease
		want  event.Lease
	}{
		{"a lease that was never renewed", coordinationv1.Lease{}, event.Lease{}},
		{"a heartbeat, to the microsecond", coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-node-lease", Name: "a"},
			Spec:       coordinationv1.LeaseSpec{RenewTime: &renew, LeaseDurationSeconds: &duration},
		}, event.Lease{
			Meta:      event.Meta{Namespace: "kube-node-lease", Name: "a"},
			RenewTime: noon.Add(1500 * time.Microsecond), DurationSeconds: 40,
		}},
	} {
		t.Run(c.name, func(t *testing.T) { wantSlim(t, read(t, event.KindLease, &c.lease), &c.want) })
	}
}

func TestControlPlaneLease(t *testing.T) {
	holder, duration, transitions, renew := "master-1_5a2c0c0e", int32(15), int32(7), metav1.NewMicroTime(noon.Add(1500*time.Microsecond).Local())
	for _, c := range []struct {
		name  string
		lease coordinationv1.Lease
		want  event.ControlPlaneLease
	}{
		{"a lease that nobody holds", coordinationv1.Lease{}, event.ControlPlaneLease{}},
		{"that of a leader", coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: event.LeaseControllerManager},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &duration, RenewTime: &renew, LeaseTransitions: &transitions},
		}, event.ControlPlaneLease{
			Meta: event.Meta{Namespace: "kube-system", Name: "kube-controller-manager"}, Holder: "master-1_5a2c0c0e",
			RenewTime: noon.Add(1500 * time.Microsecond), DurationSeconds: 15, Transitions: 7,
		}},
		{"that of an API server names its host", coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Name: "apiserver-abc", Labels: map[string]string{"kubernetes.io/hostname": "master-1", "apiserver.kubernetes.io/identity": "kube-apiserver"},
		}}, event.ControlPlaneLease{Meta: event.Meta{Name: "apiserver-abc"}, Host: "master-1"}},
	} {
		t.Run(c.name, func(t *testing.T) { wantSlim(t, read(t, event.KindControlPlaneLease, &c.lease), &c.want) })
	}
}

func TestService(t *testing.T) {
	for _, c := range []struct {
		name    string
		service corev1.Service
		want    event.Service
	}{
		{"a service without a selector", corev1.Service{Spec: corev1.ServiceSpec{Type: "ClusterIP", ClusterIP: "10.0.0.1"}}, event.Service{Type: "ClusterIP"}},
		{"a headless one that publishes all", corev1.Service{Spec: corev1.ServiceSpec{
			Type: "ClusterIP", ClusterIP: "None", PublishNotReadyAddresses: true, Selector: map[string]string{"app": "web"},
		}}, event.Service{Type: "ClusterIP", PublishNotReady: true, Selector: map[string]string{"app": "web"}}},
	} {
		t.Run(c.name, func(t *testing.T) { wantSlim(t, read(t, event.KindService, &c.service), &c.want) })
	}
}
