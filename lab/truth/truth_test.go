package truth

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// at returns a time in the test.
func at(seconds int) time.Time { return time.Unix(1_000_000+int64(seconds), 0) }

// world applies objects directly, without watches.
type world struct {
	state
	now int
}

func newWorld(baseline ...runtime.Object) *world {
	w := &world{state: newState()}
	w.inBaseline = true
	for _, object := range baseline {
		w.see(object)
	}
	w.inBaseline = false
	return w
}

func (w *world) see(object runtime.Object)  { w.apply(change{at(w.now), watch.Modified, object}) }
func (w *world) lose(object runtime.Object) { w.apply(change{at(w.now), watch.Deleted, object}) }

func (w *world) expect(t *testing.T, want float64, name string, labels ...string) {
	t.Helper()
	series := Series(name, labels...)
	if got, ok := w.counts(at(w.now))[series]; !ok || got != want {
		t.Errorf("%s: got %v (exists: %t), want %v", series, got, ok, want)
	}
}

func aNode(status corev1.ConditionStatus, heartbeat int) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "1"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: status, LastHeartbeatTime: metav1.NewTime(at(heartbeat))},
		}},
	}
}

func aLease(renewed int) *coordinationv1.Lease {
	t := metav1.NewMicroTime(at(renewed))
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: coordinationv1.LeaseSpec{RenewTime: &t}}
}

func aService(uid types.UID) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s", UID: uid},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "s"}},
	}
}

// aSlice returns a slice with one address that has the given conditions.
func aSlice(name string, ready, terminating bool) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "s"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Service", UID: "1"}},
		},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses:  []string{"192.0.2.1"},
			TargetRef:  &corev1.ObjectReference{UID: "pod"},
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Terminating: &terminating},
		}},
	}
}

func TestClockThatStepsBackRenewsInVain(t *testing.T) {
	w := newWorld(aLease(0), aNode(corev1.ConditionTrue, 0))
	w.now = 10
	w.see(aLease(10))
	w.see(aLease(5))
	w.see(aLease(10))
	w.expect(t, 1, Heartbeats, "node", "n")
	w.see(aNode(corev1.ConditionTrue, 1)) // each status report is a heartbeat, and resets the saved Lease
	w.see(aLease(11))
	w.expect(t, 3, Heartbeats, "node", "n")
}

func TestAgeStartsFromTheRenewalButIsNeverNegative(t *testing.T) {
	for renewed, age := range map[int]float64{15: 5, 99: 0} {
		w := &world{state: newState(), now: 20}
		w.inBaseline = true
		w.see(aLease(renewed))
		w.see(aNode(corev1.ConditionTrue, 12))
		w.expect(t, age, "kubeflap_node_heartbeat_age_seconds", "node", "n")
	}
}

func TestAbsentReadyConditionIsUnknown(t *testing.T) {
	w := newWorld(aNode(corev1.ConditionTrue, 0))
	w.now = 5
	bare := aNode(corev1.ConditionTrue, 0)
	bare.Status.Conditions = nil
	w.see(bare)
	w.now = 8
	w.see(aNode(corev1.ConditionTrue, 0))
	w.expect(t, 1, "kubeflap_node_ready_transitions_total", "node", "n", "status", "unknown")
	w.expect(t, 1, "kubeflap_node_ready_transitions_total", "node", "n", "status", "true")
	w.expect(t, 3, UnreadyOfAnyClass, "node", "n")
}

func TestTerminatingIsRemovedOnce(t *testing.T) {
	w := newWorld(aService("1"), aSlice("x", true, false))
	w.see(aSlice("x", false, true))
	w.lose(aSlice("x", false, true))
	w.expect(t, 1, AddressesLost, "namespace", "a", "service", "s")
	w.expect(t, 0, "kubeflap_service_address_flips_total", "namespace", "a", "service", "s", "to", "not_ready")
	w.expect(t, 1, Outages, "namespace", "a", "service", "s")
}

func TestPublishedTerminatingAddressIsReady(t *testing.T) {
	w := newWorld(aService("1"), aSlice("x", true, true))
	w.expect(t, 1, "kubeflap_service_addresses", "namespace", "a", "service", "s", "state", "ready")
}

func TestMoveBetweenSlicesIsNoLoss(t *testing.T) {
	w := newWorld(aService("1"), aSlice("x", true, false))
	w.see(aSlice("y", true, false))
	w.lose(aSlice("x", true, false))
	w.expect(t, 0, AddressesLost, "namespace", "a", "service", "s")
	w.expect(t, 0, Outages, "namespace", "a", "service", "s")
}

func TestLossIsOfAReadyAddressAlone(t *testing.T) {
	of := []string{"namespace", "a", "service", "s"}
	w := newWorld(aService("1"), aSlice("x", true, false))
	w.expect(t, 0, AddressesLost, of...)
	if last, there := w.counts(at(0))[Series(LastLoss, of...)]; there {
		t.Errorf("unexpected time of the last loss, without any loss: %v", last)
	}
	w.now = 5
	w.see(aSlice("x", false, false))
	w.now = 7
	w.lose(aSlice("x", false, false)) // it was already not ready
	w.expect(t, 1, AddressesLost, of...)
	w.expect(t, 1, LossesOfAnyCause, of...)
	w.expect(t, 1, LastLossSeries, of...)
	w.expect(t, float64(at(5).Unix()), LastLoss, of...)
	w.see(aSlice("x", true, false))
	w.now = 9
	w.see(aSlice("x", false, true))
	w.expect(t, 2, AddressesLost, of...)
	w.expect(t, float64(at(9).Unix()), LastLoss, of...)
}

func TestRecreatedServiceStartsAtZeroWithoutTheOldSlices(t *testing.T) {
	w := newWorld(aService("1"), aSlice("x", true, false))
	w.see(aSlice("x", false, false))
	w.lose(aService("1"))
	w.see(aService("2"))
	w.expect(t, 0, "kubeflap_service_address_flips_total", "namespace", "a", "service", "s", "to", "not_ready")
	w.expect(t, 0, "kubeflap_service_addresses", "namespace", "a", "service", "s", "state", "not_ready")
}

func TestResetIsKnownByTheSelector(t *testing.T) {
	written := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"},
		Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}}}},
	}
	w := newWorld(aService("1"), written)
	w.expect(t, 0, "kubeflap_service_endpoints_resets_total", "namespace", "a", "service", "s", "selector", "true")
	w.see(&corev1.Endpoints{ObjectMeta: written.ObjectMeta})
	w.see(written)
	w.lose(written)
	w.expect(t, 2, "kubeflap_service_endpoints_resets_total", "namespace", "a", "service", "s", "selector", "true")
}

func TestWhatTheControllerPutsRightIsNoReset(t *testing.T) {
	edited := &corev1.Endpoints{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s"},
		Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{
			{IP: "192.0.2.1", TargetRef: &corev1.ObjectReference{UID: "pod"}}, {IP: "192.0.2.2"},
		}}},
	}
	right := edited.DeepCopy()
	right.Subsets[0].Addresses = right.Subsets[0].Addresses[:1]
	for _, pods := range [][]runtime.Object{{right}, {aSlice("s-1", true, false), &corev1.Endpoints{ObjectMeta: edited.ObjectMeta}}} {
		w := newWorld(append([]runtime.Object{aService("1"), edited}, pods[:len(pods)-1]...)...)
		w.see(pods[len(pods)-1])
		w.expect(t, 0, "kubeflap_service_endpoints_resets_total", "namespace", "a", "service", "s", "selector", "true")
	}
}

func TestAForeignSliceThatIsDeleted(t *testing.T) {
	own, foreign := aSlice("s-1", true, false), aSlice("s-2", true, false)
	own.Labels[discoveryv1.LabelManagedBy] = sliceController
	foreign.Endpoints[0].Addresses, foreign.Endpoints[0].TargetRef = []string{"192.0.2.2"}, nil
	w := newWorld(aService("1"), own, foreign)
	w.lose(foreign)
	w.expect(t, 0, "kubeflap_service_endpoints_resets_total", "namespace", "a", "service", "s", "selector", "true")
	w.expect(t, 1, AddressesLost, "namespace", "a", "service", "s")
	if _, last := w.counts(at(w.now))[Series(LastLoss, "namespace", "a", "service", "s")]; last {
		t.Error("the removal of the foreign address changed the last loss")
	}
}
