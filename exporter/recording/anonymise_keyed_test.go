package recording

import (
	"fmt"
	"net/netip"
	"regexp"
	"runtime"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// keyedTexts returns anonymised events as texts.
func keyedTexts(t *testing.T, key string, objects []event.Object) (all []string) {
	t.Helper()
	anonymiser := NewKeyedAnonymiser([]byte(key))
	for _, object := range objects {
		all = append(all, encoded(t, anonymiser.Event(event.Event{Seen: noon, Kind: object.Kind(), Type: event.Listed, Object: object})))
	}
	return all
}

// TestKeyedPseudonymsDependOnlyOnTheKey checks that the order of the objects does not matter, but the key does.
func TestKeyedPseudonymsDependOnlyOnTheKey(t *testing.T) {
	objects := pods()
	forward := keyedTexts(t, "a", objects)
	for i := range objects {
		if alone := keyedTexts(t, "a", objects[i:i+1])[0]; alone != forward[i] {
			t.Errorf("alone\n%sin order\n%s", alone, forward[i])
		}
	}
	if node := regexp.MustCompile(`"name":"node-[0-9a-f]{12}"`); !node.MatchString(forward[0]) || node.FindString(forward[0]) == node.FindString(keyedTexts(t, "b", objects)[0]) {
		t.Errorf("the node is %s", forward[0])
	}
}

func TestKeyedPseudonymsKeepReferences(t *testing.T) {
	anonymiser := NewKeyedAnonymiser([]byte("key"))
	all := map[event.Kind][]event.Object{}
	for _, object := range pods() {
		ev := anonymiser.Event(event.Event{Seen: noon, Kind: object.Kind(), Type: event.Listed, Object: object})
		all[ev.Kind] = append(all[ev.Kind], ev.Object)
	}
	node, lease := all[event.KindNode][0].(*event.Node), all[event.KindLease][0].(*event.Lease)
	pod, service := all[event.KindPod][0].(*event.Pod), all[event.KindService][0].(*event.Service)
	slice, endpoints := all[event.KindEndpointSlice][0].(*event.EndpointSlice), all[event.KindEndpoints][0].(*event.Endpoints)
	other := all[event.KindService][1].(*event.Service)
	sameSelector := len(service.Selector) == 2
	for key, value := range other.Selector {
		sameSelector = sameSelector && service.Selector[key] == value
	}
	ip := slice.Addresses[0].IP
	for what, holds := range map[string]bool{
		"the Lease has the node's name":             lease.Name == node.Name,
		"the pod is on the node":                    pod.Node == node.Name,
		"the pod has a random UUID":                 pod.UID[6]>>4 == 4 && pod.UID[8]>>6 == 2,
		"the address is the pod's":                  slice.Addresses[0].UID == pod.UID && slice.Addresses[0].Node == node.Name,
		"the slice is the Service's":                slice.Service == service.Name && slice.Owner == service.UID && slice.Namespace == service.Namespace,
		"Endpoints have the Service's name":         endpoints.Name == service.Name,
		"equal labels stay equal":                   sameSelector,
		"a Service in another namespace is another": other.Name != service.Name,
		"the same IP stays the same":                slice.Addresses[1].IP == ip && endpoints.Addresses[0].IP == ip,
		"an address by hand is not the pod's":       slice.Addresses[1].UID != slice.Addresses[0].UID,
	} {
		if !holds {
			t.Errorf("it is not so that %s", what)
		}
	}
}

func TestKeyedAddresses(t *testing.T) {
	for original, network := range map[string]string{"192.0.2.7": "10.0.0.0/8", "2001:db8::7": "fd00::/8", "::ffff:192.0.2.7": "fd00::/8"} {
		ip := NewKeyedAnonymiser([]byte("key")).ip(original)
		if got, err := netip.ParseAddr(ip); err != nil || !netip.MustParsePrefix(network).Contains(got) || ip == NewKeyedAnonymiser([]byte("other")).ip(original) {
			t.Errorf("%s became %s, want one of %s that depends on the key", original, ip, network)
		}
	}
}

// TestAddressesByHandStayDistinct checks addresses whose IPs get the same pseudonym: there are only 2^24 pseudonyms.
func TestAddressesByHandStayDistinct(t *testing.T) {
	anonymiser := NewKeyedAnonymiser([]byte("key"))
	first := map[string]string{}
	for i := range 1 << 17 {
		original := netip.AddrFrom4([4]byte{192, byte(i >> 16), byte(i >> 8), byte(i)}).String()
		ip := anonymiser.ip(original)
		if known, ok := first[ip]; ok {
			a := anonymiser.address(event.Address{IP: known, UID: event.AddressUID(known)})
			b := anonymiser.address(event.Address{IP: original, UID: event.AddressUID(original)})
			if a.IP != b.IP || a.UID == b.UID {
				t.Errorf("%s and %s became %+v and %+v", known, original, a, b)
			}
			return
		}
		first[ip] = original
	}
	t.Error("no two IPs have the same pseudonym; the test proves nothing")
}

func TestTheHeaderNamesTheSetOfPseudonyms(t *testing.T) {
	set := func(key string) string { return NewKeyedAnonymiser([]byte(key)).Header(Header{}).Pseudonyms }
	if a, b := set("a"), set("b"); len(a) != 16 || a == b || a != set("a") {
		t.Errorf("the sets of two keys are %q and %q", a, b)
	}
	if got := NewAnonymiser().Header(Header{Pseudonyms: set("a")}); got.Pseudonyms != "" {
		t.Errorf("numbered pseudonyms are from the set %q", got.Pseudonyms)
	}
}

// churned returns a pod that exists only once.
func churned(i int) *event.Pod {
	return &event.Pod{
		Meta: event.Meta{UID: event.ParseUID(fmt.Sprint("uid-", i)), Namespace: "shop", Name: fmt.Sprint("cron-", i)}, Node: "node-1", Owner: fmt.Sprint("Job/cron-", i),
		Containers: []event.Container{{Name: "app", Image: "app:1", ID: fmt.Sprintf("containerd://%064d", i)}}, Labels: map[string]string{"job-name": fmt.Sprint("cron-", i)},
	}
}

// TestAKeyedAnonymiserRemembersNoName lets pods come and go.
func TestAKeyedAnonymiserRemembersNoName(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	anonymiser := NewKeyedAnonymiser([]byte("key"))
	before := heap()
	for i := range 20_000 {
		anonymiser.Event(event.Event{Seen: noon, Kind: event.KindPod, Type: event.Added, Object: churned(i)})
	}
	if grown := heap() - before; grown > 1<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	}
	runtime.KeepAlive(anonymiser)
}

// BenchmarkAnonymisePod compares the two kinds of pseudonyms.
func BenchmarkAnonymisePod(b *testing.B) {
	for name, anonymiser := range map[string]*Anonymiser{"numbered": NewAnonymiser(), "keyed": NewKeyedAnonymiser([]byte("key"))} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				anonymiser.Event(event.Event{Seen: noon, Kind: event.KindPod, Type: event.Added, Object: churned(i % 1000)})
			}
		})
	}
}
