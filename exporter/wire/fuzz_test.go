package wire

import (
	"encoding/json"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/randfill"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// typed is an object of the API's types, as the API's own decoder gives it.
type typed interface {
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal(data []byte) error
}

// kinds are a new object for each kind that is watched, and what is to be read of it.
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

// FuzzObject holds what is read of anything that the API can hold against what the API's own decoder reads.
func FuzzObject(f *testing.F) {
	for seed := range int64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed int64) {
		for kind, create := range kinds() {
			random, _ := create()
			randfill.NewWithSeed(seed).NilChance(0.3).NumElements(0, 4).Funcs(fillStatus, fillGate).Fill(random)
			data, err := random.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			object, want := create()
			if err := object.Unmarshal(data); err != nil {
				t.Fatal(err)
			}
			got, err := (&Reader{}).Object(kind, data)
			if err != nil {
				t.Fatal(err)
			}
			wantSlim(t, got.Slim, want())
			if got.Version != object.GetResourceVersion() {
				t.Errorf("%s has version %q, not %q", kind, got.Version, object.GetResourceVersion())
			}
			checkText(t, got.Slim)
		}
	})
}

// Random words are rarely those that are looked for.
func fillStatus(s *corev1.ConditionStatus, c randfill.Continue) {
	*s = []corev1.ConditionStatus{"True", "False", "Unknown", "odd"}[c.Intn(4)]
}

func fillGate(s *corev1.PodConditionType, c randfill.Continue) {
	*s = []corev1.PodConditionType{"Ready", "ContainersReady", "DisruptionTarget", "a", "b"}[c.Intn(5)]
}

func checkText(t *testing.T, slim event.Object) {
	t.Helper()
	text, err := json.Marshal(slim)
	if err != nil {
		t.Fatalf("write %s: %v", slim.Kind(), err)
	}
	if err := json.Unmarshal(text, event.New(slim.Kind())); err != nil {
		t.Fatalf("read %s: %v", slim.Kind(), err)
	}
}

// FuzzBytes reads what no API server would send: an object or an error, and no panic.
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
			if o, err := r.Object(kind, data); err == nil && o.Slim.Kind() != kind {
				t.Errorf("%s became %#v", kind, o.Slim)
			}
		}
		_, _ = r.List(data)
		_, _, _ = r.WatchEvent(data)
		_, _ = r.Document(append(prefix[:len(prefix):len(prefix)], data...))
	})
}

// FuzzMember reads managed fields that no API server would write.
func FuzzMember(f *testing.F) {
	for _, seed := range []string{kubeletAlone, nodeLifecycle, replicaSetFields, `{"f:status`, `{"\`, `}`, `{"a":{"f:status":{}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := member(raw, "f:status") != nil
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil {
			return // any answer will do
		}
		keys := map[string]bool{}
		for key := range want {
			keys[key] = true
		}
		// A key may be spelt with escapes, which API servers do not do.
		if got != keys["f:status"] && !hasEscape(raw) {
			t.Errorf("found %v in %s", got, raw)
		}
	})
}

func hasEscape(raw []byte) bool {
	for _, c := range raw {
		if c == '\\' {
			return true
		}
	}
	return false
}
