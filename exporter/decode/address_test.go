package decode

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func target(ordinal string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Pod", Name: "p", UID: types.UID("uid-" + ordinal)}
}

var podUID = event.ParseUID("uid-0")

func TestSliceAddress(t *testing.T) {
	yes, no, node := true, false, "a"
	for _, c := range []struct {
		name     string
		endpoint discoveryv1.Endpoint
		want     event.Address
	}{
		{"conditions that are not set: ready, serving, not terminating", discoveryv1.Endpoint{
			Addresses: []string{"10.0.0.7"}, TargetRef: target("0"), NodeName: &node,
		}, event.Address{UID: podUID, IP: "10.0.0.7", Node: "a", Ready: true}},
		{"a mirrored address sets ready only, and serving is the same", discoveryv1.Endpoint{
			Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &no},
		}, event.Address{UID: event.AddressUID("192.0.2.1"), IP: "192.0.2.1", ByHand: true}},
		{"a pod that ends and still serves", discoveryv1.Endpoint{
			Addresses: []string{"10.0.0.7"}, TargetRef: target("0"),
			Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes},
		}, event.Address{UID: podUID, IP: "10.0.0.7", Terminating: true}},
		{"of several addresses the first is used", discoveryv1.Endpoint{
			Addresses: []string{"10.0.0.7", "10.0.0.8"}, TargetRef: target("0"),
		}, event.Address{UID: podUID, IP: "10.0.0.7", Ready: true}},
		{"a target without a uid is identified by its address, and is not manually managed", discoveryv1.Endpoint{
			Addresses: []string{"10.0.0.7"}, TargetRef: &corev1.ObjectReference{Kind: "Pod"},
		}, event.Address{UID: event.AddressUID("10.0.0.7"), IP: "10.0.0.7", Ready: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			slice := &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{c.endpoint}}
			wantSlim(t, read(t, event.KindEndpointSlice, slice), &event.EndpointSlice{Addresses: []event.Address{c.want}})
		})
	}
}

func TestEndpointSlice(t *testing.T) {
	meta := func(apiVersion, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Labels:          map[string]string{"kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": "m"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "web", UID: uid}},
		}
	}
	owned := event.EndpointSlice{Service: "web", ManagedBy: "m", Owner: event.ParseUID(uid)}
	other := event.EndpointSlice{Service: "web", ManagedBy: "m"}
	for _, c := range []struct {
		name  string
		slice discoveryv1.EndpointSlice
		want  event.EndpointSlice
	}{
		{"a slice of no service", discoveryv1.EndpointSlice{}, event.EndpointSlice{}},
		{"the placeholder of a service without pods", discoveryv1.EndpointSlice{ObjectMeta: meta("v1", "Service")}, owned},
		{"a slice that somebody applied", discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Annotations:   map[string]string{lastAppliedAnnotation: `{"endpoints":[{"addresses":["192.0.2.1"]}],"kind":"EndpointSlice"}`},
			ManagedFields: []metav1.ManagedFieldsEntry{entry("kubectl-client-side-apply", "", `{"f:endpoints":{}}`)},
		}}, event.EndpointSlice{LastApplied: true, Writer: "kubectl-client-side-apply", OtherWriter: "kubectl-client-side-apply"}},
		{"a mirrored slice is owned by the Endpoints", discoveryv1.EndpointSlice{ObjectMeta: meta("v1", "Endpoints")}, other},
		{"another API's Service is no Service", discoveryv1.EndpointSlice{ObjectMeta: meta("serving.knative.dev/v1", "Service")}, other},
		{"an endpoint without an address is none", discoveryv1.EndpointSlice{Endpoints: make([]discoveryv1.Endpoint, 2)}, event.EndpointSlice{Addresses: []event.Address{}}},
	} {
		t.Run(c.name, func(t *testing.T) { wantSlim(t, read(t, event.KindEndpointSlice, &c.slice), &c.want) })
	}
}

func TestEndpoints(t *testing.T) {
	pod := corev1.EndpointAddress{IP: "10.0.0.7", TargetRef: target("0")}
	hand := corev1.EndpointAddress{IP: "192.0.2.1"}
	podAddress := event.Address{UID: podUID, IP: "10.0.0.7"}
	podReady := event.Address{UID: podUID, IP: "10.0.0.7", Ready: true}
	for _, c := range []struct {
		name      string
		endpoints corev1.Endpoints
		want      event.Endpoints
	}{
		{"no addresses", corev1.Endpoints{Subsets: []corev1.EndpointSubset{{}}}, event.Endpoints{}},
		{"ready and not ready, by a controller and manually managed", corev1.Endpoints{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"endpoints.kubernetes.io/managed-by": "endpoint-controller"}},
			Subsets:    []corev1.EndpointSubset{{NotReadyAddresses: []corev1.EndpointAddress{pod}, Addresses: []corev1.EndpointAddress{hand}}},
		}, event.Endpoints{ManagedBy: "endpoint-controller", Addresses: []event.Address{
			{UID: event.AddressUID("192.0.2.1"), IP: "192.0.2.1", ByHand: true, Ready: true}, podAddress,
		}}},
		{"not ready on one port and ready on another is ready", corev1.Endpoints{Subsets: []corev1.EndpointSubset{
			{NotReadyAddresses: []corev1.EndpointAddress{pod}}, {Addresses: []corev1.EndpointAddress{pod}},
		}}, event.Endpoints{Addresses: []event.Address{podReady}}},
		{"and the other way round", corev1.Endpoints{Subsets: []corev1.EndpointSubset{
			{Addresses: []corev1.EndpointAddress{pod}}, {NotReadyAddresses: []corev1.EndpointAddress{pod}},
		}}, event.Endpoints{Addresses: []event.Address{podReady}}},
		{"the controller left some out", corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{"endpoints.kubernetes.io/over-capacity": "truncated"},
		}}, event.Endpoints{Truncated: true}},
		{"kubectl applied addresses, and the controller has overwritten them", corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{lastAppliedAnnotation: `{"kind":"Endpoints","subsets":[{"addresses":[{"ip":"192.0.2.1"}]}]}` + "\n"},
			ManagedFields: []metav1.ManagedFieldsEntry{
				entry("kubectl-client-side-apply", "", `{"f:metadata":{"f:annotations":{}}}`), entry("kube-controller-manager", "", `{"f:subsets":{}}`),
			},
		}}, event.Endpoints{LastApplied: true, Writer: "kube-controller-manager"}},
		{"kubectl applied no addresses", corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{lastAppliedAnnotation: `{"kind":"Endpoints","metadata":{"subsets":[1]},"subsets":[]}`},
		}}, event.Endpoints{}},
		{"an operator and the controller own the addresses", corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
			ManagedFields: []metav1.ManagedFieldsEntry{
				at(entry("earlier", "", `{"f:subsets":{}}`), 5), at(entry("operator", "", `{"f:subsets":{}}`), 10),
				at(entry("kube-controller-manager", "", `{"f:subsets":{}}`), 20),
			},
		}}, event.Endpoints{Writer: "kube-controller-manager", OtherWriter: "operator"}},
		{"the v1.21 controller only warned", corev1.Endpoints{ObjectMeta: metav1.ObjectMeta{
			Annotations: map[string]string{"endpoints.kubernetes.io/over-capacity": "warning"},
		}}, event.Endpoints{}},
	} {
		t.Run(c.name, func(t *testing.T) { wantSlim(t, read(t, event.KindEndpoints, &c.endpoints), &c.want) })
	}
}
