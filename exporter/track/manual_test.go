package track

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func TestHandWrittenEndpointsOfAServiceWithASelector(t *testing.T) {
	s := newStory(t, grace40).starts(aService("kube-scheduler", true), handWritten("kube-scheduler", "192.0.2.1", "192.0.2.2"))
	v := s.service("kube-scheduler")
	equal(t, "conflict before the bomb goes off", v.SelectorConflict, true)
	equal(t, "resets at the start", v.ResetsWithSelector, 0)
	equal(t, "addresses: proxies read the slices", v.Ready, 0)

	s.at(10).modified(handWritten("kube-scheduler"))
	v = s.service("kube-scheduler")
	equal(t, "resets", v.ResetsWithSelector, 1)
	equal(t, "conflict after the wipe", v.SelectorConflict, true)

	s.at(20).modified(handWritten("kube-scheduler", "192.0.2.1"))
	equal(t, "reported as written again", count[transition.EndpointsRewritten](s), 1)
	s.at(30).modified(handWritten("kube-scheduler"))
	equal(t, "resets after it was applied again", s.service("kube-scheduler").ResetsWithSelector, 2)

	s.at(40).modified(aService("kube-scheduler", false))
	v = s.service("kube-scheduler")
	equal(t, "conflict without the selector", v.SelectorConflict, false)
	equal(t, "resets stay counted", v.ResetsWithSelector, 2)
	equal(t, "reported conflicts", count[transition.SelectorConflict](s), 1)
	equal(t, "reported resets", count[transition.EndpointsReset](s), 2)
}

func TestConflictEndsWhenAPodMatches(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), handWritten("web", "192.0.2.1"))
	s.at(10).modified(handWritten("web"))
	equal(t, "conflict", s.service("web").SelectorConflict, true)
	s.at(20).added(slice("a", "web", "web-1"))
	equal(t, "conflict once a pod matches", s.service("web").SelectorConflict, false)
}

func TestOnlyWhatWasWipedIsWrittenAgain(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), aService("db", false), handWritten("db", "192.0.2.1"))
	s.at(10).added(handWritten("web", "192.0.2.1")).modified(handWritten("db"), handWritten("db", "192.0.2.1"))
	equal(t, "reported as written again", count[transition.EndpointsRewritten](s), 0)
}

func TestEndpointsEmptiedAndWrittenAgainAtOnceAreAReset(t *testing.T) {
	mirrored := func(ips ...string) *event.EndpointSlice {
		o := slice("mirror", "db")
		o.ManagedBy, o.Owner = "endpointslicemirroring-controller.k8s.io", event.UID{}
		o.Addresses = handWritten("db", ips...).Addresses
		return o
	}
	s := newStory(t, grace40).starts(aService("db", false), handWritten("db", "192.0.2.1"), mirrored("192.0.2.1"))
	equal(t, "ready by the mirrored slice", s.service("db").Ready, 1)
	s.at(10).modified(handWritten("db"), handWritten("db", "192.0.2.1"))
	v := s.service("db")
	equal(t, "resets", v.ResetsSelectorless, 1)
	equal(t, "conflict", v.SelectorConflict, false)
	equal(t, "outages: the mirror did not move", v.Outages, 0)
	s.at(20).deleted(handWritten("db", "192.0.2.1"))
	s.at(20.1).modified(mirrored())
	v = s.service("db")
	equal(t, "resets after Endpoints were deleted, the mirror not counted again", v.ResetsSelectorless, 2)
	equal(t, "outages", v.Outages, 1)
}

func TestMirroredSliceStandsForEndpointsThatCannotBeRead(t *testing.T) {
	mirrored := slice("mirror", "db")
	mirrored.ManagedBy = "endpointslicemirroring-controller.k8s.io"
	mirrored.Addresses = handWritten("db", "192.0.2.1").Addresses
	emptied := slice("mirror", "db")
	emptied.ManagedBy = "endpointslicemirroring-controller.k8s.io"
	s := newStory(t, grace40)
	s.Apply(event.Event{Seen: s.now, Kind: event.KindEndpoints, Type: event.Unavailable, Reason: "forbidden"})
	s.lists(event.KindService, aService("db", false)).lists(event.KindEndpointSlice, mirrored)
	s.at(10).modified(emptied)
	equal(t, "resets", s.service("db").ResetsSelectorless, 1)
}

func TestHandWrittenEndpointsOutliveTheirService(t *testing.T) {
	second := aService("db", true)
	second.UID = id("second")
	s := newStory(t, grace40).starts(aService("db", true), handWritten("db", "192.0.2.1"))
	s.at(10).modified(handWritten("db")).modified(handWritten("db", "192.0.2.1"))
	s.at(20).deleted(aService("db", true)).added(second)
	v := s.service("db")
	equal(t, "by hand", v.Manual, true)
	equal(t, "conflict", v.SelectorConflict, true)
	equal(t, "resets: it is another Service", v.ResetsWithSelector, 0)
	s.at(30).modified(handWritten("db"))
	equal(t, "resets of its own", s.service("db").ResetsWithSelector, 1)
}

// TestHandWrittenEndpointsThatARelistLacksAreNoReset checks that nobody is accused if Endpoints vanish while kubeflap
// does not watch: the Service may have been deleted and created again, for example.
func TestHandWrittenEndpointsThatARelistLacksAreNoReset(t *testing.T) {
	settings := grace40
	settings.AddressSource = event.KindEndpoints
	s := newStory(t, settings).starts(aService("db", false), handWritten("db", "192.0.2.1"))
	s.at(10).breaks(event.ReasonExpired, event.KindEndpoints)
	s.at(20).lists(event.KindEndpoints)
	s.Advance(s.now.Add(lagWait))
	v := s.service("db")
	equal(t, "resets", v.ResetsSelectorless, 0)
	equal(t, "outages", v.Outages, 1)
	equal(t, "losses of unknown cause", v.Losses[cause.Unknown], 1)
	equal(t, "Endpoints left behind", kept(s.services, "sources"), 0)
	for _, x := range of[transition.AddressLost](s) {
		equal(t, "vanished", x.Vanished, true)
	}
}
