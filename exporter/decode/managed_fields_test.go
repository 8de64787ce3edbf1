package decode

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// These are the managed fields of a Deployment's pod, as an API server v1.36 stores and orders them.
const (
	replicaSetFields = `{"f:metadata":{"f:generateName":{},"f:labels":{".":{},"f:app":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"5a2c0c0e-7d39-4d1c-9fb4-6b6cb0a1d4a1\"}":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:ports":{".":{},"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}}}},"f:readinessGates":{},"f:restartPolicy":{}}}`
	kubeletAlone     = `{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:observedGeneration":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Initialized\"}":{".":{},"f:status":{},"f:type":{}},"k:{\"type\":\"PodScheduled\"}":{"f:observedGeneration":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:observedGeneration":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.0.0.7\"}":{".":{},"f:ip":{}}},"f:startTime":{}}}`
	// MarkPodsNotReady takes over the condition's status. The kubelet still owns the rest of the condition.
	kubeletRobbed     = `{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},"f:observedGeneration":{},"f:type":{}}},"f:phase":{}}}`
	nodeLifecycle     = `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{"f:lastTransitionTime":{},"f:status":{}}}}}`
	schedulerFields   = `{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"PodScheduled\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}}}}`
	readyAsAnotherKey = `{"f:status":{"f:conditions":{"k:{\"type\":\"my.io/gate\"}":{"k:{\"type\":\"Ready\"}":{"f:status":{}}}}}}`
)

func entry(manager, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Subresource: subresource, Operation: metav1.ManagedFieldsOperationUpdate,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// readPod encodes a pod as the API server does, and decodes it.
func readPod(t *testing.T, r *Reader, pod *corev1.Pod) *event.Pod {
	t.Helper()
	data, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	o, err := r.Object(event.KindPod, data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data) // the buffer is reused
	return o.(*event.Pod)
}

func TestMember(t *testing.T) {
	for _, c := range []struct{ name, object, key, want string }{
		{"the value and what follows", `{"a":{},"b":{"c":1}}`, "b", `{"c":1}}`},
		{"a deeper key is not found", `{"a":{"b":{}}}`, "b", ""},
		{"a string value is not a key", `{"a":"b","c":1}`, "b", ""},
		{"braces in a string do not count", `{"k:{\"x\":\"}\"}":{},"b":1}`, "b", "1}"},
		{"space before the colon", `{"b" : 1}`, "b", " 1}"},
		{"text after the object is not part of it", `{"a":1},"b":2`, "b", ""},
		{"an open end", `{"b`, "b", ""},
		{"an escape at the end", `{"b\`, "b", ""},
		{"no object", `"b":1`, "b", ""},
		{"nothing", ``, "b", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(member([]byte(c.object), c.key)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
