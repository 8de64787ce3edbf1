package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// named maps the API's names of the watched kinds to the kinds.
var named = map[schema.GroupVersionKind]event.Kind{
	corev1.SchemeGroupVersion.WithKind("Node"):               event.KindNode,
	coordinationv1.SchemeGroupVersion.WithKind("Lease"):      event.KindLease,
	corev1.SchemeGroupVersion.WithKind("Pod"):                event.KindPod,
	corev1.SchemeGroupVersion.WithKind("Service"):            event.KindService,
	discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"): event.KindEndpointSlice,
	corev1.SchemeGroupVersion.WithKind("Endpoints"):          event.KindEndpoints,
}

// apiTypes returns a scheme with the API's own types.
func apiTypes(t testing.TB) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return scheme
}

func create(t testing.TB, types *runtime.Scheme, name schema.GroupVersionKind) runtime.Object {
	t.Helper()
	object, err := types.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// opened is a decoded document: one object, or a list with its objects.
type opened struct {
	version, next string
	objects       []Object
}

func open(document Document) (opened, error) {
	r := &Reader{}
	for name, kind := range named {
		switch document.Kind {
		case name.Kind:
			o, err := r.Object(kind, document.Object)
			all := opened{objects: []Object{o}}
			if kind == event.KindLease && err == nil {
				o, err = r.Object(event.KindControlPlaneLease, document.Object)
				all.objects = append(all.objects, o)
			}
			return all, err
		case name.Kind + "List":
			list, err := r.List(document.Object)
			all := opened{version: list.Version, next: list.Continue}
			for _, item := range list.Items {
				o, failed := r.Object(kind, item)
				if failed != nil {
					err = failed
				}
				all.objects = append(all.objects, o)
			}
			return all, err
		}
	}
	return opened{}, fmt.Errorf("%q is not watched", document.Kind)
}

func isWatched(documentKind string) bool {
	for name := range named {
		if documentKind == name.Kind || documentKind == name.Kind+"List" {
			return true
		}
	}
	return false
}

func mustOpen(t *testing.T, document Document, err error) opened {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	all, err := open(document)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkBothForms checks that an object from JSON equals the same object from protobuf.
func checkBothForms(t *testing.T, kind string, text []byte, object runtime.Object) {
	t.Helper()
	message, err := object.(protobuf).Marshal()
	want := mustOpen(t, Document{Kind: kind, Object: message}, err)
	document, err := (&Reader{}).Document(text)
	if got := mustOpen(t, document, err); !reflect.DeepEqual(got, want) {
		g, _ := json.MarshalIndent(got.objects, "", " ")
		w, _ := json.MarshalIndent(want.objects, "", " ")
		t.Errorf("JSON says %+v %s\nprotobuf says %+v %s", got, g, want, w)
	}
}

func inJSON(t testing.TB, name schema.GroupVersionKind, object runtime.Object) []byte {
	t.Helper()
	object.GetObjectKind().SetGroupVersionKind(name)
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestJSONSaysWhatProtobufSays(t *testing.T) {
	types := apiTypes(t)
	for name := range named {
		t.Run(name.Kind, func(t *testing.T) {
			var items []runtime.Object
			for seed := range int64(40) {
				random := create(t, types, name)
				fill(random, seed)
				checkBothForms(t, name.Kind, inJSON(t, name, random), random)
				items = append(items, random)
			}
			listName := name.GroupVersion().WithKind(name.Kind + "List")
			list := create(t, types, listName)
			checkBothForms(t, listName.Kind, inJSON(t, listName, list), list)
			if err := meta.SetList(list, items); err != nil {
				t.Fatal(err)
			}
			list.(metav1.ListInterface).SetResourceVersion("9")
			list.(metav1.ListInterface).SetContinue("c")
			checkBothForms(t, listName.Kind, inJSON(t, listName, list), list)
		})
	}
}

// TestIndentedJSON covers JSON with indentation, as sent by some proxies.
func TestIndentedJSON(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", ManagedFields: []metav1.ManagedFieldsEntry{entry("kubelet", "status", kubeletAlone)}},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}},
	}
	var text bytes.Buffer
	if err := json.Indent(&text, inJSON(t, corev1.SchemeGroupVersion.WithKind("Pod"), pod), "", "  "); err != nil {
		t.Fatal(err)
	}
	checkBothForms(t, "Pod", text.Bytes(), pod)
}

func TestWhatJSONMayHave(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       event.Object
	}{
		{"nothing but a kind", `{"kind":"Pod"}`, &event.Pod{}},
		{"null is not there", `{"kind":"Pod","metadata":null,"spec":{"nodeName":null,"hostNetwork":null,"containers":null},"status":{"podIPs":null}}`, &event.Pod{}},
		{"null in a list is empty", `{"kind":"Node","spec":{"taints":[null]}}`, &event.Node{Taints: []event.Taint{{}}}},
		{"names in other letters are not the API's", `{"kind":"Pod","Spec":{"nodeName":"a"},"spec":{"nodename":"b"}}`, &event.Pod{}},
		{"fields that are not known, of any form", `{"kind":"Pod","spec":{"new":{"a":[1]},"nodeName":"a"}}`, &event.Pod{Node: "a"}},
		{"what is set to nothing is set", `{"kind":"EndpointSlice","endpoints":[{"addresses":["a"],"conditions":{"ready":false}}]}`, &event.EndpointSlice{
			Addresses: []event.Address{{UID: event.AddressUID("a"), IP: "a", ByHand: true}},
		}},
		{"a time of another zone, to the microsecond", `{"kind":"Lease","spec":{"renewTime":"2026-07-01T14:00:00.001500+02:00"}}`, &event.Lease{RenewTime: noon.Add(1500000)}},
		{"a fraction is no part of other times", `{"kind":"Pod","metadata":{"deletionTimestamp":"2026-07-01T12:00:00.9Z"}}`, &event.Pod{DeletionTimestamp: noon}},
		{"a number of 64 bits", `{"kind":"Pod","spec":{"tolerations":[{"operator":"Exists","tolerationSeconds":9007199254740993}]}}`, &event.Pod{
			ToleratesNotReady: &event.Toleration{Seconds: 9007199254740993}, ToleratesUnreachable: &event.Toleration{Seconds: 9007199254740993},
		}},
		{"a negative number", `{"kind":"Lease","spec":{"leaseDurationSeconds":-1}}`, &event.Lease{DurationSeconds: -1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			document, err := (&Reader{}).Document([]byte(c.text))
			wantSlim(t, mustOpen(t, document, err).objects[0].Slim, c.want)
		})
	}
}

func TestJSONThatIsWrong(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"kind":"Pod","metadata":[]}`, "Pod.metadata: want an object"},
		{`{"kind":"Pod","metadata":{"name":7}}`, "Pod.metadata.name: want a string"},
		{`{"kind":"Pod","metadata":{"labels":{"a":1}}}`, "Pod.metadata.labels: want an object of strings"},
		{`{"kind":"Pod","metadata":{"deletionTimestamp":"yesterday"}}`, "Pod.metadata.deletionTimestamp: want a time"},
		{`{"kind":"Pod","metadata":{"deletionTimestamp":""}}`, "Pod.metadata.deletionTimestamp: want a time"},
		{`{"kind":"Pod","metadata":{"deletionTimestamp":1}}`, "Pod.metadata.deletionTimestamp: want a time"},
		{`{"kind":"Node","spec":{"unschedulable":"true"}}`, "Node.spec.unschedulable: want true or false"},
		{`{"kind":"Pod","spec":{"containers":{}}}`, "Pod.spec.containers: want a list"},
		{`{"kind":"Pod","spec":{"containers":[{"args":["a",{}]}]}}`, "Pod.spec.containers[0].args[1]: want a string"},
		{`{"kind":"Lease","spec":{"leaseDurationSeconds":1.5}}`, "Lease.spec.leaseDurationSeconds: want a 32-bit integer"},
		{`{"kind":"Lease","spec":{"leaseDurationSeconds":2147483648}}`, "Lease.spec.leaseDurationSeconds: want a 32-bit integer"},
		{`{"kind":"Pod","spec":{"tolerations":[{"tolerationSeconds":"300"}]}}`, "Pod.spec.tolerations[0].tolerationSeconds: want a 64-bit integer"},
		{`{"kind":"NodeList","items":[{},"a"]}`, "NodeList.items[1]: want an object"},
		{`{"kind":"NodeList","items":[{},{"status":{"conditions":[{"status":true}]}}]}`, "NodeList.items[1].status.conditions[0].status: want a string"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if _, err := (&Reader{}).Document([]byte(c.text)); err == nil || err.Error() != "read a document: "+c.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatIsNoDocumentOfOurs(t *testing.T) {
	for _, c := range []struct{ text, kind string }{
		{`{"kind":"Status","apiVersion":"v1","code":410}`, "Status"},
		{`{"gitVersion":"v1.36.3"}`, ""},
		{`{"kind":1}`, ""},
		{`{"kind":"Pod"`, ""},
		{`[]`, ""},
		{`null`, ""},
		{`<html>`, ""},
		{``, ""},
	} {
		document, err := (&Reader{}).Document([]byte(c.text))
		if err != nil || document.Kind != c.kind || document.Object != nil {
			t.Errorf("%s is %+v, %v", c.text, document, err)
		}
	}
}

// FuzzJSON reads JSON that no API server sends. JSON that the API's own decoder accepts must decode to the same
// object as protobuf. Any other input must return an object or an error, and must not panic.
func FuzzJSON(f *testing.F) {
	// The seeds are small, because fuzzing large ones is slow. TestJSONSaysWhatProtobufSays uses large ones.
	for _, text := range []string{
		`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"c"},"items":[{"spec":{"nodeName":"a"}},null]}`,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","deletionTimestamp":"2026-07-01T12:00:00.9+02:00","labels":{"component":null}}}`,
		`{"kind":"Pod","apiVersion":"v1","spec":{"hostNetwork":true,"containers":[{"name":"c","args":["b"]}]},` +
			`"status":{"containerStatuses":[{"name":"c","restartCount":-1,"state":{"running":{"startedAt":null}}}],"podIPs":[{"ip":"10.0.0.7"}]}}`,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"managedFields":[{"manager":"m","subresource":"status","fieldsV1":` + nodeLifecycle + `}]},` +
			`"status":{"conditions":[{"type":"Ready","status":"True"}]}}`,
		`{"kind":"Node","apiVersion":"v1","spec":{"taints":[{"key":"k","effect":"NoExecute"}]},"status":{"conditions":[{"type":"Ready","status":"False"}]}}`,
		`{"kind":"Node","apiVersion":"v1","metadata":{"labels":{"topology.kubernetes.io/zone":"a","b":"c"},"deletionTimestamp":"2026-07-01T12:00:00Z"},` +
			`"spec":{"providerID":"aws:///a/i-1","taints":[{"key":"k","value":"v","effect":"NoSchedule","timeAdded":"2026-07-01T12:00:00Z"}]},` +
			`"status":{"conditions":[{"type":"Drained","status":"True","reason":"r","lastTransitionTime":"2026-07-01T12:00:00Z"}]}}`,
		`{"kind":"Pod","apiVersion":"v1","metadata":{"labels":{"app":"web"}},"spec":{"tolerations":[{"key":"node.kubernetes.io/not-ready",` +
			`"operator":"Exists","effect":"NoExecute","tolerationSeconds":300},{"operator":"Exists"}]}}`,
		`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","spec":{"leaseDurationSeconds":40,"renewTime":"2026-07-01T12:00:00.001500Z"}}`,
		`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"labels":{"kubernetes.io/hostname":"m"}},"spec":{"holderIdentity":"m_1","leaseTransitions":3}}`,
		`{"kind":"Service","apiVersion":"v1","spec":{"clusterIP":"None","selector":{"app":"web"}}}`,
		`{"kind":"EndpointSlice","apiVersion":"discovery.k8s.io/v1","endpoints":[{"addresses":["a"],"conditions":{"ready":false},"targetRef":{"uid":"u"}}]}`,
		`{"kind":"Endpoints","apiVersion":"v1","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\\"subsets\\":[{}]}"}}}`,
		`{"kind":"Endpoints","apiVersion":"v1","subsets":[{"addresses":[{"ip":"a","targetRef":{}}],"notReadyAddresses":[{"ip":"b","nodeName":"n"}]}]}`,
	} {
		f.Add([]byte(text))
	}
	types := apiTypes(f)
	// The strict serializer rejects unknown and duplicate names. Otherwise it would merge the values of duplicate
	// names.
	strict := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, types, types, serializer.SerializerOptions{Strict: true})
	f.Fuzz(func(t *testing.T, text []byte) {
		document, failed := (&Reader{}).Document(text)
		if failed == nil && document.Object != nil {
			mustOpen(t, document, nil)
		}
		var compact bytes.Buffer
		if json.Compact(&compact, text) != nil {
			return
		}
		object, name, err := strict.Decode(compact.Bytes(), nil, nil)
		if err != nil || !isWatched(name.Kind) {
			return
		}
		if failed != nil {
			t.Fatalf("the API's own decoder reads it: %v", failed)
		}
		checkBothForms(t, name.Kind, text, object)
	})
}
