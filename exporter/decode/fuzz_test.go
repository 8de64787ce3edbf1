package decode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// typed is an object of the API's types.
type typed interface {
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// kinds maps each watched kind to a function that creates an empty object. This function also returns a conversion from
// the object to the slim object that the reader must return.
func kinds() map[event.Kind]func() (typed, func() event.Object) {
	return map[event.Kind]func() (typed, func() event.Object){
		event.KindNode: func() (typed, func() event.Object) {
			o := &corev1.Node{}
			return o, func() event.Object { return slimNode(o) }
		},
		event.KindLease: func() (typed, func() event.Object) {
			o := &coordinationv1.Lease{}
			return o, func() event.Object { return slimLease(o) }
		},
		event.KindControlPlaneLease: func() (typed, func() event.Object) {
			o := &coordinationv1.Lease{}
			return o, func() event.Object { return slimControlPlaneLease(o) }
		},
		event.KindPod: func() (typed, func() event.Object) {
			o := &corev1.Pod{}
			return o, func() event.Object { return slimPod(o) }
		},
		event.KindService: func() (typed, func() event.Object) {
			o := &corev1.Service{}
			return o, func() event.Object { return slimService(o) }
		},
		event.KindEndpointSlice: func() (typed, func() event.Object) {
			o := &discoveryv1.EndpointSlice{}
			return o, func() event.Object { return slimEndpointSlice(o) }
		},
		event.KindEndpoints: func() (typed, func() event.Object) {
			o := &corev1.Endpoints{}
			return o, func() event.Object { return slimEndpoints(o) }
		},
	}
}

// FuzzObject compares slim objects with the result of the API's own decoder, for random valid objects.
func FuzzObject(f *testing.F) {
	for seed := range int64(300) {
		f.Add(seed)
	}
	reader := &Reader{} // its caches are used for all objects
	f.Fuzz(func(t *testing.T, seed int64) {
		for kind, create := range kinds() {
			random, _ := create()
			fill(random, seed)
			data, err := random.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			object, want := create()
			if err := object.Unmarshal(data); err != nil {
				t.Fatal(err)
			}
			got, err := reader.Object(kind, data)
			if err != nil {
				t.Fatal(err)
			}
			clear(data) // the buffer is reused
			if want := want(); !reflect.DeepEqual(got, want) {
				t.Errorf("got %s\nwant %s", jsonOf(t, got), jsonOf(t, want))
			}
			if err := json.Unmarshal(jsonOf(t, got), event.New(kind)); err != nil {
				t.Errorf("read %s: %v", kind, err)
			}
		}
	})
}

// fill fills an object with random values that the API allows.
func fill(object any, seed int64) {
	randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 4).Funcs(fillStatus, fillGate, fillTime, fillMicroTime, fillFields, fillMeta).Fill(object)
	meet(object, rand.New(rand.NewSource(seed)))
}

// fillStatus uses the values that the reader looks for, because random words rarely match them.
func fillStatus(s *corev1.ConditionStatus, c randfill.Continue) {
	*s = []corev1.ConditionStatus{"True", "False", "Unknown", "odd"}[c.Intn(4)]
}

func fillGate(s *corev1.PodConditionType, c randfill.Continue) {
	*s = []corev1.PodConditionType{"Ready", "ContainersReady", "DisruptionTarget", "a", "b"}[c.Intn(5)]
}

// fillTime chooses times before 1970, times with a fraction, and the zero time, among others.
func fillTime(t *metav1.Time, c randfill.Continue) {
	*t = metav1.Time{Time: time.Unix([]int64{0, -1, 1, -62135596800, 1e9, 1 << 33, -5e9}[c.Intn(7)], []int64{0, 1, 999999999}[c.Intn(3)])}
	if c.Intn(4) == 0 {
		*t = metav1.Time{}
	}
}

func fillMicroTime(t *metav1.MicroTime, c randfill.Continue) {
	*t = metav1.NewMicroTime(time.Unix(c.Int63n(2e9), c.Int63n(1e9)))
}

func fillFields(f *metav1.FieldsV1, c randfill.Continue) {
	f.SetRawString([]string{
		"", "{}", kubeletAlone, nodeLifecycle, replicaSetFields, `{"f:subsets":{}}`, `{"f:endpoints":{}}`, `{"f:spec":{"f:subsets":{}}}`,
	}[c.Intn(8)])
}

func fillMeta(m *metav1.ObjectMeta, c randfill.Continue) {
	c.FillNoCustom(m)
	one := func(of ...string) string { return of[c.Intn(len(of))] }
	m.Labels = map[string]string{
		one("component", "a"): one(controllerManagerName, "b"), labelService: one("", "web"),
		one(labelHostname, "b"): one("", "master-1"), one(event.NodeLabels()[c.Intn(len(event.NodeLabels()))].Key, "c"): one("", "zone-1"),
	}
	if c.Intn(5) == 0 {
		m.Labels = nil
	}
	m.Annotations = map[string]string{
		one(overCapacity, "a"): one("truncated", "warning", "true", ""),
		one(lastAppliedAnnotation, "b"): one("", "{", "{}", `{"subsets":null}`, `{"subsets":[]}`, `{"subsets":[{}],"kind":"Endpoints"}`+"\n",
			`{"kind":"EndpointSlice","endpoints": [ {} ]}`, `{"metadata":{"subsets":[1],"endpoints":[1]},"endpoints":[ ]}`),
	}
	for i := range m.OwnerReferences {
		m.OwnerReferences[i].Kind, m.OwnerReferences[i].APIVersion = one("Service", "ReplicaSet", ""), one("v1", "apps/v1")
	}
	for i := range m.ManagedFields {
		m.ManagedFields[i].Subresource = one("status", "", "scale")
		m.ManagedFields[i].Manager = one("kube-controller-manager", "kubectl-edit", "operator", "")
	}
}

// meet chooses matching names and types in an object, so that its parts refer to each other.
func meet(object any, r *rand.Rand) {
	name := func() string { return []string{"a", "b", controllerManagerName, ""}[r.Intn(4)] }
	switch o := object.(type) {
	case *corev1.Node:
		for i := range o.Status.Conditions {
			o.Status.Conditions[i].Type = []corev1.NodeConditionType{
				"Ready", "MemoryPressure", "Drained", "DrainInProgress", "MaintenancePlanned", "MaintenanceInProgress", "GracefulNodeShutdownInProgress",
			}[r.Intn(7)]
		}
	case *corev1.Pod:
		meetTolerations(o.Spec.Tolerations, r)
		for _, containers := range [][]corev1.Container{o.Spec.Containers, o.Spec.InitContainers} {
			for i := range containers {
				always, never := corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever
				containers[i].Name, containers[i].Args = name(), []string{"--node-monitor-grace-period=50s", "--kube-api-qps", []string{"0", "NaN", "50.5"}[r.Intn(3)]}
				if r.Intn(2) == 0 {
					containers[i].Command, containers[i].Args = containers[i].Args, nil
				}
				containers[i].RestartPolicy = []*corev1.ContainerRestartPolicy{nil, &always, &never}[r.Intn(3)]
			}
		}
		for _, statuses := range [][]corev1.ContainerStatus{o.Status.ContainerStatuses, o.Status.InitContainerStatuses, o.Status.EphemeralContainerStatuses} {
			for i := range statuses {
				statuses[i].Name = name()
				if r.Intn(2) == 0 {
					statuses[i].RestartCount, statuses[i].State.Waiting = -1, nil
				}
			}
		}
	case *corev1.Endpoints:
		for i := range o.Subsets {
			for _, addresses := range [][]corev1.EndpointAddress{o.Subsets[i].Addresses, o.Subsets[i].NotReadyAddresses} {
				for j := range addresses {
					if r.Intn(2) == 0 {
						addresses[j].IP, addresses[j].TargetRef = name(), nil
					}
				}
			}
		}
	case *corev1.Service:
		o.Spec.ClusterIP = []string{corev1.ClusterIPNone, "", "10.0.0.1"}[r.Intn(3)]
	}
}

func meetTolerations(tolerations []corev1.Toleration, r *rand.Rand) {
	one := func(of ...string) string { return of[r.Intn(len(of))] }
	for i := range tolerations {
		t := &tolerations[i]
		t.Key, t.Effect = one(taintNotReady, taintUnreachable, ""), corev1.TaintEffect(one("NoExecute", "NoSchedule", ""))
		t.Operator, t.Value = corev1.TolerationOperator(one("Exists", "Equal", "", "Gt")), one("", "5")
		if t.TolerationSeconds != nil {
			*t.TolerationSeconds = int64(r.Intn(5) - 1)
		}
	}
}

func jsonOf(t *testing.T, slim event.Object) []byte {
	t.Helper()
	text, err := json.Marshal(slim)
	if err != nil {
		t.Fatalf("write %s: %v", slim.Kind(), err)
	}
	return text
}

// FuzzBytes reads bytes that no API server sends. The reader must return an object or an error, and must not panic.
func FuzzBytes(f *testing.F) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.PodStatus{PodIP: "10.0.0.7"}}
	data, err := pod.Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		r := &Reader{}
		for kind := range kinds() {
			if o, err := r.Object(kind, data); err == nil && o.Kind() != kind {
				t.Errorf("%s became %#v", kind, o)
			}
		}
		document := slices.Concat(protobufPrefix, data)
		for _, text := range [][]byte{data, document} {
			_, _ = r.List(bufio.NewReader(bytes.NewReader(text)), "PodList", func([]byte) error { return nil })
		}
		_, _, _ = r.WatchEvent(data)
		_, _, _ = r.Document(append(protobufPrefix[:len(protobufPrefix):len(protobufPrefix)], data...))
	})
}

// FuzzMember reads managed fields that no API server writes.
func FuzzMember(f *testing.F) {
	for _, seed := range []string{kubeletAlone, nodeLifecycle, replicaSetFields, `{"f:status`, `{"\`, `}`, `{"a":{"f:status":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := member(raw, "f:status") != nil
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil {
			return // invalid JSON may have any result
		}
		// API servers write keys without escapes, and the reader does not support escapes.
		if _, found := want["f:status"]; got != found && !bytes.ContainsRune(raw, '\\') {
			t.Errorf("found %v in %s", got, raw)
		}
	})
}
