package recording

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func address(pod int, ready bool) event.Address {
	return event.Address{UID: event.UID{14: 1, 15: byte(pod)}, IP: fmt.Sprint("10.0.0.", pod), Node: "node-1", Ready: ready}
}

func sliceOf(uid byte, what event.Type, addresses ...event.Address) event.Event {
	return event.Event{Seen: noon, Kind: event.KindEndpointSlice, Type: what, Object: &event.EndpointSlice{
		Meta: event.Meta{UID: event.UID{15: uid}, Namespace: "shop", Name: "web"}, Addresses: addresses,
	}}
}

// TestKnownAddressesAreNumbers tells the story of a slice whose second pod fails and is replaced.
func TestKnownAddressesAreNumbers(t *testing.T) {
	terminating := address(2, false)
	terminating.Terminating = true
	want := []event.Event{
		sliceOf(1, event.Listed, address(1, true), address(2, true), address(3, true)),
		sliceOf(1, event.Modified, address(1, true), address(2, false), address(3, true)), // only changing slices are remembered
		sliceOf(1, event.Modified, address(1, true), terminating, address(3, true)),
		sliceOf(1, event.Modified, address(4, true), address(3, true), address(1, true)),
		sliceOf(1, event.Modified),
		sliceOf(1, event.Modified, address(1, true)),
		sliceOf(1, event.Deleted, address(1, true)),
		sliceOf(1, event.Modified, address(1, true)),
	}
	compressed := recorded(t, true, want...)
	unzipped, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")[1:]
	for i, known := range []string{"", "", "[2,7,10]", "[0,10,2]", "", "", "", ""} {
		if _, got, _ := strings.Cut(lines[i], `"known":`); strings.TrimSuffix(got, "}") != known {
			t.Errorf("line %d: known is %s, want %s", i, got, known)
		}
	}
	if strings.Contains(lines[2], "10.0.0.") || strings.Count(lines[3], "10.0.0.") != 1 {
		t.Errorf("known addresses are repeated:\n%s\n%s", lines[2], lines[3])
	}
	r, err := NewReader(bytes.NewReader(compressed), "addresses")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, r); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestAddressesComeBackAsTheyWere records random changes of more slices than a Writer remembers.
func TestAddressesComeBackAsTheyWere(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	var want []event.Event
	for range 600 {
		var addresses []event.Address
		for range random.IntN(200) {
			addresses = append(addresses, address(random.IntN(250), random.IntN(2) == 0)) // some twice
		}
		ev := sliceOf(byte(random.IntN(200)), event.Modified, addresses...)
		if random.IntN(10) == 0 {
			ev.Type = event.Deleted
		}
		if random.IntN(3) == 0 {
			slice := ev.Object.(*event.EndpointSlice)
			slice.UID[0] = 1
			ev.Kind, ev.Object = event.KindEndpoints, &event.Endpoints{Meta: slice.Meta, Addresses: addresses}
		}
		want = append(want, ev)
	}
	r, err := NewReader(bytes.NewReader(recorded(t, true, want...)), "addresses")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, r); !reflect.DeepEqual(got, want) {
		t.Error("the events differ")
	}
}

func TestWrongNumbersOfAddressesAreRefused(t *testing.T) {
	for name, known := range map[string]string{
		"no address left": "[0,0]", "unknown": "[10]", "negative": "[-1]", "too many": "[" + strings.Repeat("2,", maxKnown) + "2]",
	} {
		earlier := addressLists{}
		for i, line := range []string{"", `,"known":` + known} {
			text := `{"seen":"2026-03-01T12:00:00Z","kind":"endpoints","type":"modified","object":{"name":"web","addresses":[{"uid":"6f9619ff-8b86-4011-b42d-00cf4fc964ff","ip":"10.0.0.1"}]}` + line + "}"
			if _, err := decodeEvent([]byte(text), earlier); (err != nil) != (i > 0) {
				t.Errorf("%s, line %d: error %v", name, i+1, err)
			}
		}
	}
}
