package track

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// endpointsOf returns a Service's Endpoints as the controller writes them.
func endpointsOf(service string, addresses ...string) *event.Endpoints {
	o := &event.Endpoints{Meta: event.Meta{UID: id("endpoints/" + service), Namespace: "shop", Name: service}}
	for i, a := range addresses {
		o.Addresses = append(o.Addresses, addressOf(a, i))
	}
	return o
}

func (s *story) unavailable(reason event.Reason, k event.Kind) *story {
	s.Apply(event.Event{Seen: s.now, Kind: k, Type: event.Unavailable, Reason: reason})
	return s
}

func TestWhatCannotBeSeenEitherIsNotReadInstead(t *testing.T) {
	s := newStory(t, grace40)
	s.unavailable("forbidden", event.KindEndpoints)
	s.lists(event.KindService, aService("web", true))
	s.lists(event.KindEndpointSlice, slice("a", "web", "web-1", "web-2"))
	s.at(10).breaks("forbidden", event.KindEndpointSlice)
	s.at(70).unavailable("forbidden", event.KindEndpointSlice)
	equal(t, "addresses, as they were last seen", s.at(80).service("web").Ready, 2)
	equal(t, "source", s.AddressSource(), event.KindEndpointSlice)
	equal(t, "outages", s.service("web").Outages, 0)
	equal(t, "blind, and it is said to be", s.blind(event.KindEndpointSlice), 70)
	s.at(90).lists(event.KindEndpointSlice, slice("a", "web", "web-1"))
	equal(t, "addresses, once they can be seen again", s.service("web").Ready, 1)
	equal(t, "what was removed meanwhile", s.service("web").Removed, 1)
}

func TestEndpointsAreReadInsteadAsSoonAsTheyCanBe(t *testing.T) {
	s := newStory(t, grace40)
	s.lists(event.KindService, aService("web", true))
	s.lists(event.KindEndpointSlice, slice("a", "web", "web-1", "web-2"))
	s.at(10).unavailable("forbidden", event.KindEndpointSlice)
	equal(t, "addresses before they are listed", s.service("web").Ready, 2)
	s.at(20).lists(event.KindEndpoints, endpointsOf("web", "web-1"))
	equal(t, "source", s.AddressSource(), event.KindEndpoints)
	equal(t, "addresses", s.service("web").Ready, 1)
	s.at(30).modified(endpointsOf("web", "web-1", "web-2"))
	equal(t, "addresses that follow", s.service("web").Ready, 2)
}

func TestEndpointsThatBrokeAreNotReadInstead(t *testing.T) {
	s := newStory(t, grace40)
	s.lists(event.KindService, aService("web", true))
	s.lists(event.KindEndpoints, endpointsOf("web"))
	s.lists(event.KindEndpointSlice, slice("a", "web", "web-1", "web-2"))
	s.at(10).breaks("absent", event.KindEndpoints, event.KindEndpointSlice)
	s.at(70).unavailable("forbidden", event.KindEndpointSlice)
	equal(t, "addresses", s.service("web").Ready, 2)
	equal(t, "outages", s.service("web").Outages, 0)
}
