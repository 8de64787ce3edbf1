package decode

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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

// kinds maps each watched kind to an empty object of the API.
func kinds() map[event.Kind]typed {
	return map[event.Kind]typed{
		event.KindNode: &corev1.Node{}, event.KindLease: &coordinationv1.Lease{}, event.KindControlPlaneLease: &coordinationv1.Lease{},
		event.KindPod: &corev1.Pod{}, event.KindService: &corev1.Service{}, event.KindEndpointSlice: &discoveryv1.EndpointSlice{}, event.KindEndpoints: &corev1.Endpoints{},
		event.KindDeployment: &appsv1.Deployment{}, event.KindStatefulSet: &appsv1.StatefulSet{},
	}
}

// decoded encodes an object as the API server does, decodes it, and returns it as in a recording.
func decoded(t *testing.T, r *Reader, kind event.Kind, object typed) []byte {
	t.Helper()
	data, err := object.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	slim, err := r.Object(kind, data)
	if err != nil {
		t.Fatal(err)
	}
	clear(data) // the buffer is reused
	text, err := json.Marshal(slim)
	if err != nil {
		t.Fatalf("write %s: %v", kind, err)
	}
	return text
}

// testObject is an object of the API from testdata/objects.txt, and its slim object.
type testObject struct {
	title  string
	kind   event.Kind
	object typed
	want   string
}

// testObjects reads testdata/objects.txt. It has each object after its kind, and the slim object on the next line.
func testObjects(t testing.TB) (all []testObject) {
	t.Helper()
	file, err := os.ReadFile("testdata/objects.txt")
	if err != nil {
		t.Fatal(err)
	}
	var x testObject
	for line := range strings.Lines(strings.NewReplacer("\\\n", "").Replace(string(file))) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case line[0] == '#':
			x.title = line
		case line[0] == '{':
			x.want = line
			all = append(all, x)
		default:
			name, text, _ := strings.Cut(line, " ")
			if err := x.kind.UnmarshalText([]byte(name)); err != nil {
				t.Fatal(err)
			}
			x.object = kinds()[x.kind]
			if err := json.Unmarshal([]byte(text), x.object); err != nil {
				t.Fatalf("%s: %v", x.title, err)
			}
		}
	}
	return all
}

func TestObjects(t *testing.T) {
	reader := &Reader{} // its caches are used for all objects
	for _, x := range testObjects(t) {
		if got := string(decoded(t, reader, x.kind, x.object)); got != x.want {
			t.Errorf("%s\n got %s\nwant %s", x.title, got, x.want)
		}
	}
}

// copied lists fields that a slim object copies: the name in the slim object, and the path in the object of the API. A
// star stands for every element of a list.
var copied = map[event.Kind]string{
	event.KindNode: "unschedulable=spec.unschedulable kubeletVersion=status.nodeInfo.kubeletVersion bootID=status.nodeInfo.bootID " +
		"providerID=spec.providerID created=metadata.creationTimestamp deletion=metadata.deletionTimestamp taints.*.key=spec.taints.*.key taints.*.value=spec.taints.*.value " +
		"taints.*.effect=spec.taints.*.effect taints.*.added=spec.taints.*.timeAdded",
	event.KindLease:             "renew=spec.renewTime durationSeconds=spec.leaseDurationSeconds",
	event.KindControlPlaneLease: "renew=spec.renewTime holder=spec.holderIdentity",
	event.KindPod: "node=spec.nodeName phase=status.phase reason=status.reason deletion=metadata.deletionTimestamp labels=metadata.labels " +
		"containers.*.name=spec.containers.*.name containers.*.image=spec.containers.*.image",
	event.KindService:       "type=spec.type selector=spec.selector publishNotReady=spec.publishNotReadyAddresses",
	event.KindEndpointSlice: "addresses.*.ip=endpoints.*.addresses.0 addresses.*.terminating=endpoints.*.conditions.terminating",
	event.KindEndpoints:     "",
	event.KindDeployment:    "replicas=spec.replicas generation=metadata.generation selector=spec.selector.matchLabels",
	event.KindStatefulSet:   "replicas=spec.replicas generation=metadata.generation selector=spec.selector.matchLabels updateRevision=status.updateRevision",
}

// FuzzObject compares fields with the API's own decoder, for random valid objects.
func FuzzObject(f *testing.F) {
	for seed := range int64(100) {
		f.Add(seed)
	}
	reader := &Reader{}
	f.Fuzz(func(t *testing.T, seed int64) {
		for kind, object := range kinds() {
			randfill.NewWithSeed(seed).NilChance(0.3).NumElements(1, 4).Funcs(fillTime, fillMicroTime, fillFields).Fill(object)
			switch o := object.(type) {
			case *corev1.Pod:
				o.Spec.InitContainers = nil // sidecars follow the containers
			case *appsv1.Deployment:
				plain(&o.Spec.Replicas, o.Spec.Selector)
			case *appsv1.StatefulSet:
				plain(&o.Spec.Replicas, o.Spec.Selector)
			case *discoveryv1.EndpointSlice:
				o.Endpoints = slices.DeleteFunc(o.Endpoints, func(e discoveryv1.Endpoint) bool { return len(e.Addresses) == 0 })
			}
			text := decoded(t, reader, kind, object)
			if err := json.Unmarshal(text, event.New(kind)); err != nil {
				t.Errorf("read %s: %v", kind, err)
			}
			var slim, whole any
			original, err := json.Marshal(object)
			if err = cmp.Or(err, json.Unmarshal(text, &slim), json.Unmarshal(original, &whole)); err != nil {
				t.Fatal(err)
			}
			for pair := range strings.FieldsSeq("namespace=metadata.namespace name=metadata.name resourceVersion=metadata.resourceVersion " + copied[kind]) {
				mine, theirs, _ := strings.Cut(pair, "=")
				got, want := jsonOf(at(slim, mine)), jsonOf(at(whole, theirs))
				if got != want {
					t.Errorf("%s of %s: got %s, want %s", mine, kind, got, want)
				}
			}
		}
	})
}

// plain removes what makes a slim object differ: it has replicas by default, and no selector with expressions.
func plain(replicas **int32, selector *metav1.LabelSelector) {
	*replicas = cmp.Or(*replicas, new(int32))
	if selector != nil {
		selector.MatchExpressions = nil
	}
}

func jsonOf(x any) string {
	text, _ := json.Marshal(x)
	return string(text)
}

// at returns the value at a path, or nil for an empty value.
func at(x any, path string) any {
	key, rest, _ := strings.Cut(path, ".")
	switch x := x.(type) {
	case map[string]any:
		if path != "" {
			return at(x[key], rest)
		}
		if len(x) == 0 {
			return nil
		}
	case []any:
		if len(x) == 0 {
			return nil
		}
		if key == "0" {
			return at(x[0], rest)
		}
		var all []any
		for _, e := range x {
			all = append(all, at(e, rest))
		}
		return all
	case string:
		t, err := time.Parse(time.RFC3339Nano, x)
		if x == "" || err == nil && t.IsZero() {
			return nil
		} else if err == nil {
			return t
		}
	case bool:
		if !x {
			return nil
		}
	case float64:
		if x == 0 {
			return nil
		}
	}
	return x
}

// fillTime chooses times before 1970, times with a fraction, and the zero time, among others.
func fillTime(t *metav1.Time, c randfill.Continue) {
	*t = metav1.Time{Time: time.Unix([]int64{0, -1, 1, -62135596800, 1e9, 1 << 33, -5e9}[c.Intn(7)], []int64{0, 1, 999999999}[c.Intn(3)])}
	if c.Intn(4) == 0 {
		*t = metav1.Time{}
	}
}

func fillFields(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString("{}") }

func fillMicroTime(t *metav1.MicroTime, c randfill.Continue) {
	*t = metav1.NewMicroTime(time.Unix(c.Int63n(2e9), c.Int63n(1e9)))
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
		_, _, _ = r.Document(document)
	})
}

// FuzzMember reads JSON that no API server writes.
func FuzzMember(f *testing.F) {
	for _, seed := range []string{
		`{"f:endpoints":{}}`, `{"f:metadata":{"f:endpoints":{}}}`, `{"f:endpoints`, `{"\`, `}`, ``, `"f:endpoints":1`, `{"k:{\"x\":\"}\"}":{},"f:endpoints":1}`,
		`{"a":"f:endpoints","c":1}`, `{"f:endpoints" : 1}`, `{"a":1},"f:endpoints":2`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := member(raw, "f:endpoints") != nil
		var want map[string]json.RawMessage
		if json.Unmarshal(raw, &want) != nil {
			return // invalid JSON may have any result
		}
		// API servers write keys without escapes, and the reader does not support escapes.
		if _, found := want["f:endpoints"]; got != found && !bytes.ContainsRune(raw, '\\') {
			t.Errorf("found %v in %s", got, raw)
		}
	})
}
