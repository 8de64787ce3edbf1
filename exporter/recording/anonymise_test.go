package recording

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// disguises are texts that the anonymiser partly keeps. It must still replace a real name in such a text.
var disguises = []string{
	"%s", "ReplicaSet/%s", "Node/%s", "%s/web", "Acme%s/web",
	"v1.36.3-%s", "v%s", "1.2.%s",
	"containers with unready status: [%s], containers with unknown status: [web %s]",
	"containers with %s status: [web]", "containers with unready status: [web] %s", "kubelet is posting ready status. %s",
	"topology.kubernetes.io/%s", "karpenter.sh/%s", "app.kubernetes.io/%s", "aws://%s", "gce:///%s/zone/machine", "apiserver-%s",
	"kube-controller-manager%s", "ToBeDeletedBy%s", "v1.36.3-eks-%s", "v1.36.3-gke.%s", "Drained%s",
	"node.kubernetes.io/%s", "node-role.kubernetes.io/%s", "kubectl-%s", "kube-%s",
	"containerd://%s", "registry.example/%s:v1", "%s.example", "fe80::1%%%s", "Error: %s",
}

func TestNoRealNameSurvives(t *testing.T) {
	for _, disguise := range disguises {
		random := filler{Rand: rand.New(rand.NewPCG(5, 6)), full: true, zone: time.UTC}
		var planted []string
		random.text = func() string {
			const letters = "ghijklmnopqrstuvwxyz" // names contain no hexadecimal digits, so that no UID contains a name by chance
			name := make([]byte, 12)
			for i := range name {
				name[i] = letters[random.IntN(len(letters))]
			}
			planted = append(planted, string(name))
			return strings.ReplaceAll(disguise, "%s", string(name))
		}
		anonymiser := newAnonymiser()
		for _, ev := range random.everything() {
			before := encoded(t, ev)
			text := encoded(t, anonymiser.Event(ev))
			for _, name := range planted {
				if strings.Contains(text, name) {
					t.Errorf("%q in disguise %q survived in %s", name, disguise, text)
				}
			}
			if encoded(t, ev) != before {
				t.Errorf("the event itself was changed: %s", before)
			}
		}
	}
}

func TestNoUIDOrAddressSurvives(t *testing.T) {
	for _, form := range []string{"203.0.%d.%d", "2001:db8::%x:%x", "::ffff:203.0.%d.%d", "%08x-1234-1234-1234-%012x"} {
		random := filler{Rand: rand.New(rand.NewPCG(7, 8)), full: true, zone: time.UTC}
		var planted []string
		random.text = func() string {
			planted = append(planted, fmt.Sprintf(form, 100+random.IntN(100), 100+random.IntN(100)))
			return planted[len(planted)-1]
		}
		anonymiser := newAnonymiser()
		for _, ev := range random.everything() {
			text := encoded(t, anonymiser.Event(ev))
			for _, name := range planted {
				if strings.Contains(text, `"`+name+`"`) || strings.Contains(text, event.ParseUID(name).String()) {
					t.Errorf("%s survived in %s", name, text)
				}
			}
		}
	}
}

// encoded returns the line of an event.
func encoded(t testing.TB, ev event.Event) string {
	t.Helper()
	_, text, _ := strings.Cut(string(recorded(t, false, ev)), "\n")
	return text
}

// TestAllButNamesStays removes all names from both recordings, and checks that the rest is equal.
func TestAllButNamesStays(t *testing.T) {
	random := filler{Rand: rand.New(rand.NewPCG(9, 10)), full: true, zone: time.UTC}
	random.text = func() string { return fmt.Sprint("name-", random.Int()) }
	anonymiser := newAnonymiser()
	for _, ev := range random.everything() {
		got := anonymiser.Event(ev)
		if ev.Object == nil {
			continue
		}
		if ev.Object == got.Object {
			t.Fatalf("%v: the object is the event's own", ev.Kind)
		}
		blank(reflect.ValueOf(ev.Object).Elem())
		blank(reflect.ValueOf(got.Object).Elem())
		if !reflect.DeepEqual(ev, got) {
			t.Errorf("want %+v\ngot  %+v", ev.Object, got.Object)
		}
	}
}

func blank(v reflect.Value) {
	switch v.Addr().Interface().(type) {
	case *time.Time:
		return
	case *event.UID:
		v.SetZero()
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			blank(v.Field(i))
		}
	case reflect.String:
		v.SetZero()
	case reflect.Pointer:
		if !v.IsNil() {
			blank(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			blank(v.Index(i))
		}
	case reflect.Map: // compare only the sizes
		v.Set(reflect.ValueOf(map[string]string{fmt.Sprint(v.Len()): ""}))
	}
}

// TestEachTextHasANoun compares the nouns with the fields of the objects.
func TestEachTextHasANoun(t *testing.T) {
	unused := maps.Clone(nouns)
	var check func(name string, of reflect.Type)
	check = func(name string, of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			check(name, of.Elem())
		case reflect.String:
			if delete(unused, name); nouns[name] == "" {
				t.Errorf("%s has no noun", name)
			}
		case reflect.Struct:
			for i := 0; i < of.NumField() && of != reflect.TypeFor[event.Address]() && of != reflect.TypeFor[time.Time](); i++ {
				if field := of.Field(i); !field.Anonymous {
					check(of.Name()+"."+field.Name, field.Type)
				}
			}
		}
	}
	for kind := range event.NumKinds {
		if object := event.New(event.Kind(kind)); object != nil {
			check("", reflect.TypeOf(object))
		}
	}
	if len(unused) > 0 {
		t.Errorf("nouns of no field: %v", slices.Sorted(maps.Keys(unused)))
	}
}

// TestPseudonyms anonymises the clusters of testdata/pseudonyms.txt. Each object follows its kind, and the next line has
// the anonymised object. The result does not depend on the order of maps.
func TestPseudonyms(t *testing.T) {
	text, err := os.ReadFile("testdata/pseudonyms.txt")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		var anonymiser *anonymiser
		var got string
		for line := range strings.Lines(string(text)) {
			kind, object, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch {
			case kind == "":
			case kind == "#":
				anonymiser = newAnonymiser()
			case kind[0] == '{':
				if !strings.HasSuffix(got, `,"object":`+line[:len(line)-1]+"}\n") {
					t.Fatalf("got %swant %s", got, line)
				}
			default:
				ev, err := decodeEvent(fmt.Appendf(nil, `{"seen":"2026-03-01T12:00:00Z","kind":%q,"type":"listed","object":%s}`, kind, object))
				if err != nil {
					t.Fatal(err)
				}
				got = encoded(t, anonymiser.Event(ev))
			}
		}
	}
}

func TestHeaderIsAnonymisedToo(t *testing.T) {
	got := newAnonymiser().Header(Header{Recorded: noon, Kubernetes: "v1.36.3-acme", Title: "Acme is down", Head: []byte(`{"id":"acme"}`), State: 3})
	if want := (Header{Recorded: noon, Kubernetes: "v1.36.3", Anonymised: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestReasonOfAWatchIsKeptIfItIsKnown(t *testing.T) {
	for text, want := range map[event.Reason]event.Reason{"": "", "connection lost": "connection lost", "etcd not ready": "etcd not ready", "log not ready": "Other", "dial tcp 192.0.2.1:6443: refused": "Other"} {
		ev := newAnonymiser().Event(event.Event{Seen: noon, Kind: event.KindPod, Type: event.Down, Reason: text})
		if ev.Reason != want {
			t.Errorf("%q became %q", text, ev.Reason)
		}
	}
}

func TestVersionKeepsItsNumbersOnly(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "v1.36.3": "v1.36.3", "1.36.3": "1.36.3", "v1.31.0+k3s1": "v1.31.0", "v1.34.0-alpha.1": "v1.34.0",
		"v1.33.4-eks-1234567": "v1.33.4-eks-0", "v1.33.4-gke.1036000": "v1.33.4-gke.0", "v1.33.4-eksy": "v1.33.4", "-eks-1": "",
		"v1.x": "v1", "192.0.2.7": "192.0.2", "latest": "", "very-old": "",
	} {
		if got := release(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
