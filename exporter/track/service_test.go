package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func TestTerminatingAddressThatIsReadyIsReady(t *testing.T) {
	// With publishNotReadyAddresses the controller always writes ready=true.
	published := slice("a", "web", "web-1")
	published.Addresses[0].Terminating = true
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"))
	s.at(10).modified(published)
	v := s.service("web")
	equal(t, "removed", v.Removed, 0)
	equal(t, "ready", v.Ready, 1)
	equal(t, "outages", v.Outages, 0)
}

func TestPodsOnTheHostNetworkShareAnIPAndAreTwoAddresses(t *testing.T) {
	shared := slice("a", "web", "web-1", "web-2")
	shared.Addresses[1].IP = shared.Addresses[0].IP
	s := newStory(t, grace40).starts(aService("web", true), shared)
	equal(t, "ready", s.service("web").Ready, 2)
	one := slice("a", "web", "web-1", "-web-2")
	one.Addresses[1].IP = one.Addresses[0].IP
	s.at(10).modified(one)
	equal(t, "turned not ready", s.service("web").TurnedNotReady, 1)
	equal(t, "ready after one fell", s.service("web").Ready, 1)
}

func TestDualStackPodIsOneAddress(t *testing.T) {
	six := func(address string) *event.EndpointSlice {
		o := slice("six", "web", address)
		o.Addresses[0].IP = "fd00::1"
		return o
	}
	s := newStory(t, grace40).starts(aService("web", true), slice("four", "web", "web-1"), six("web-1"))
	equal(t, "ready", s.service("web").Ready, 1)
	s.at(10).modified(slice("four", "web", "-web-1"))
	equal(t, "flips after the first family", s.service("web").TurnedNotReady, 0)
	s.at(10.1).modified(six("-web-1"))
	equal(t, "flips after both", s.service("web").TurnedNotReady, 1)
}

func TestIPThatAnotherPodGetsIsAnotherAddress(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"))
	s.at(10).modified(slice("a", "web", "web-2"))
	v := s.service("web")
	equal(t, "removed", v.Removed, 1)
	equal(t, "added", v.Added, 1)
	equal(t, "bounces", v.Bounces, 0)
}

func TestBounceIsWithinItsWindow(t *testing.T) {
	s := newStory(t, Settings{BounceWindow: 30 * time.Second}).
		starts(aService("web", true), slice("a", "web", "web-1", "web-2", "web-3"))
	s.at(10).modified(slice("a", "web", "-web-1", "web-3"))
	s.at(40).modified(slice("a", "web", "web-1", "web-3"))
	equal(t, "back at the end of the window", s.service("web").Bounces, 1)
	s.at(40.1).modified(slice("a", "web", "web-1", "web-2", "web-3"))
	equal(t, "back after it, having been removed", s.service("web").Bounces, 1)
	equal(t, "remembered leavers", kept(s.services, "all.any.leftRotation"), 0)
}

func TestOutageLastsFromTheLastReadyAddressToTheNext(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1", "web-2"))
	s.at(10).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(11).modified(slice("a", "web", "-web-1", "-web-2"))
	s.at(14)
	equal(t, "outages", s.service("web").Outages, 1)
	equal(t, "time while it runs", seconds(s.service("web").OutageTime), 3)
	s.at(15).modified(slice("a", "web"))
	equal(t, "outages when the rest leaves", s.service("web").Outages, 1)
	s.at(21).modified(slice("a", "web", "web-3"))
	s.at(99)
	equal(t, "time in the end", seconds(s.service("web").OutageTime), 10)
}

func TestSliceSeenBeforeItsNewServiceCountsLikeAfterIt(t *testing.T) {
	before := newStory(t, grace40).starts()
	before.at(10).added(slice("a", "web", "web-1"), aService("web", true))
	after := newStory(t, grace40).starts()
	after.at(10).added(aService("web", true), slice("a", "web", "web-1"))
	equal(t, "added", before.service("web").Added, 1)
	equal(t, "the same", before.service("web"), after.service("web"))
}

func TestServiceCreatedAgainStartsAtZeroInEveryOrderOfEvents(t *testing.T) {
	second := aService("web", true)
	second.UID = id("second")
	fresh := slice("b", "web", "web-1")
	fresh.Owner = second.UID
	old := slice("a", "web", "-web-1")
	orders := map[string]func(*story){
		"Service, slices": func(s *story) {
			s.deleted(aService("web", true)).added(second).deleted(old).added(fresh)
		},
		"new slice before the old one goes": func(s *story) {
			s.deleted(aService("web", true)).added(second, fresh).deleted(old)
		},
		"new slice before the old Service goes": func(s *story) {
			s.added(fresh).deleted(aService("web", true)).added(second).deleted(old)
		},
		"old slice goes first": func(s *story) {
			s.deleted(old).deleted(aService("web", true)).added(fresh, second)
		},
		"only a relist shows it": func(s *story) {
			s.lists(event.KindService, second).lists(event.KindEndpointSlice, fresh)
		},
	}
	for name, order := range orders {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"))
			s.at(10).modified(slice("a", "web", "-web-1"))
			s.at(20)
			order(s)
			v := s.service("web")
			equal(t, "flips", v.TurnedNotReady+v.TurnedReady, 0)
			equal(t, "outages", v.Outages, 0)
			equal(t, "removed", v.Removed, 0)
			equal(t, "added", v.Added, 1)
			equal(t, "ready", v.Ready, 1)
			s.deleted(second, fresh)
			equal(t, "Services left behind", kept(s.services, "all")+kept(s.services, "sources"), 0)
		})
	}
}

func TestEndpointsAreTheSourceWhereThereAreNoSlices(t *testing.T) {
	managed := func(readiness ...string) *event.Endpoints {
		o := handWritten("web")
		for i, a := range readiness {
			o.Addresses = append(o.Addresses, addressOf(a, i))
		}
		return o
	}
	s := newStory(t, grace40)
	s.Apply(event.Event{Seen: s.now, Kind: event.KindEndpointSlice, Type: event.Unavailable, Reason: "absent"})
	s.lists(event.KindService, aService("web", true)).lists(event.KindEndpoints, managed("web-1", "web-2"))
	s.at(10).modified(managed("web-1", "-web-2"))
	equal(t, "source", s.AddressSource(), event.KindEndpoints)
	equal(t, "turned not ready", s.service("web").TurnedNotReady, 1)
	s.at(20).lists(event.KindEndpointSlice, slice("a", "web", "web-1", "-web-2"))
	v := s.service("web")
	equal(t, "source once there are slices", s.AddressSource(), event.KindEndpointSlice)
	equal(t, "ready", v.Ready, 1)
	equal(t, "not ready", v.NotReady, 1)
	equal(t, "counted by the change of source", v.Added+v.Removed+v.TurnedReady, 0)
	s.at(30).modified(managed("-web-1", "-web-2"))
	equal(t, "outages by Endpoints that are not the source any more", s.service("web").Outages, 0)
}

func TestTruncatedEndpointsTellNothingByWhatTheyLeaveOut(t *testing.T) {
	truncated := func(addresses ...string) *event.Endpoints {
		o := handWritten("web")
		o.Truncated = true
		for i, a := range addresses {
			o.Addresses = append(o.Addresses, addressOf(a, i))
		}
		return o
	}
	s := newStory(t, Settings{AddressSource: event.KindEndpoints, BounceWindow: time.Minute})
	s.starts(aService("web", true), truncated("web-1", "web-2"))
	s.at(10).modified(truncated("web-1", "web-3"))
	s.at(11).modified(truncated("web-2", "-web-3"))
	v := s.service("web")
	equal(t, "churn", v.Added+v.Removed, 0)
	equal(t, "turned not ready: it stayed in view", v.TurnedNotReady, 1)
	s.at(12).modified(truncated("web-2"))
	equal(t, "churn after what is not ready is left out", s.service("web").Removed, 0)
	equal(t, "reported as left out", count[transition.AddressLeftOut](s), 1)
	equal(t, "bounces", v.Bounces, 0)
}

func TestRewriteThatChangesNoReadinessCountsNothingAndAllocatesNothing(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1", "web-2"), aPod("web-1", ready))
	again := event.Event{Seen: s.now, Kind: event.KindEndpointSlice, Type: event.Modified, Object: slice("a", "web", "web-1", "web-2")}
	before := s.service("web")
	equal(t, "allocations", testing.AllocsPerRun(100, func() { s.Apply(again) }), 0)
	equal(t, "the Service", s.service("web"), before)
	equal(t, "findings", len(s.transitions()), 0)
}

func TestServiceSeenLastHasAllThatCameBeforeIt(t *testing.T) {
	second := aService("web", true)
	second.UID = id("second")
	owned := func(name, address string) *event.EndpointSlice {
		o := slice(name, "web", address)
		o.Owner = second.UID
		return o
	}
	unowned := slice("c", "web", "web-3")
	unowned.Owner = event.UID{}
	cases := map[string]struct {
		events func(*story)
		ready  int
	}{
		"a slice, then Endpoints, after all of the old one is gone": {func(s *story) {
			s.added(owned("b", "web-1")).deleted(slice("a", "web", "web-0"), aService("web", true)).added(handWritten("web"))
		}, 1},
		"two slices, one before and one after all of the old one is gone": {func(s *story) {
			s.added(owned("b", "web-1")).deleted(slice("a", "web", "web-0"), aService("web", true)).added(owned("c", "web-2"))
		}, 2},
		"a slice that only later names it as its owner": {func(s *story) {
			s.deleted(slice("a", "web", "web-0"), aService("web", true)).added(unowned).modified(owned("c", "web-3"))
		}, 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-0"))
			s.at(10)
			c.events(s)
			s.added(second)
			equal(t, "ready", s.service("web").Ready, c.ready)
		})
	}
}

func TestAddressThatIsInAnotherSliceAfterARelistStayed(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"), slice("b", "web"))
	s.at(10).watch(event.Down, event.KindEndpointSlice)
	s.at(60).lists(event.KindEndpointSlice, slice("a", "web"), slice("b", "web", "web-1"))
	v := s.service("web")
	equal(t, "churn", v.Added+v.Removed, 0)
	equal(t, "bounces", v.Bounces, 0)
	equal(t, "outages", v.Outages, 0)
}

func TestAddressThatARelistLacksIsOnlyRemoved(t *testing.T) {
	web1 := func(name, state string) *event.EndpointSlice { return slice(name, "web", state+"web-1") }
	relists := map[string][]event.Object{
		"both slices emptied, the ready one listed first": {slice("a", "web"), slice("b", "web")},
		"both slices emptied, the ready one listed last":  {slice("b", "web"), slice("a", "web")},
		"the ready slice gone":                            {slice("b", "web")},
		"the other slice gone":                            {slice("a", "web")},
		"both gone":                                       {},
	}
	for name, list := range relists {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, grace40).starts(aService("web", true), web1("a", ""), web1("b", "-"))
			s.at(10).watch(event.Down, event.KindEndpointSlice)
			s.at(60).lists(event.KindEndpointSlice, list...)
			v := s.service("web")
			equal(t, "removed", v.Removed, 1)
			equal(t, "turned not ready", v.TurnedNotReady, 0)
		})
	}
}

func TestServiceThatARelistShowsReadyByAnotherAddressHadNoOutage(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"), slice("b", "web", "-web-2"))
	s.at(10).watch(event.Down, event.KindEndpointSlice)
	s.at(60).lists(event.KindEndpointSlice, slice("a", "web", "-web-1"), slice("b", "web", "web-2"))
	v := s.service("web")
	equal(t, "turned ready", v.TurnedReady, 1)
	equal(t, "turned not ready", v.TurnedNotReady, 1)
	equal(t, "outages", v.Outages, 0)
}

func TestEndpointsThatAreTruncatedNoMoreShowAddressesThatWereThere(t *testing.T) {
	endpoints := func(truncated bool, addresses ...string) *event.Endpoints {
		o := handWritten("web")
		o.Truncated = truncated
		for i, a := range addresses {
			o.Addresses = append(o.Addresses, addressOf(a, i))
		}
		return o
	}
	s := newStory(t, Settings{AddressSource: event.KindEndpoints})
	s.starts(aService("web", true), endpoints(true, "web-1", "web-2"))
	s.at(10).modified(endpoints(false, "web-1", "web-3"))
	equal(t, "added: it may have been left out before", s.service("web").Added, 0)
	equal(t, "removed: nothing is left out now", s.service("web").Removed, 1)
}

func TestWhatHappenedBeforeAServiceWasThereIsNotItsOwn(t *testing.T) {
	unowned := func(addresses ...string) *event.EndpointSlice {
		o := slice("a", "db", addresses...)
		o.Owner = event.UID{}
		return o
	}
	s := newStory(t, grace40).starts(unowned("db-1"), handWritten("db", "192.0.2.1"))
	s.at(10).modified(unowned("-db-1"), handWritten("db"))
	equal(t, "findings about a Service that is not there", len(s.transitions()), 0)
	s.at(100).added(aService("db", false))
	s.at(101)
	v := s.service("db")
	equal(t, "turned not ready", v.TurnedNotReady, 0)
	equal(t, "outages", v.Outages, 0)
	equal(t, "outage time", v.OutageTime, 0)
	equal(t, "resets", v.ResetsSelectorless, 0)
}

func TestSlicesLeftOfADeletedServiceAreNoNewsOfItsSuccessor(t *testing.T) {
	left := slice("a", "web", "web-1")
	left.Owner = id("first")
	s := newStory(t, grace40).starts(aService("web", true), slice("b", "web", "web-2"), left)
	s.at(10).deleted(left)
	equal(t, "ready", s.service("web").Ready, 1)
	equal(t, "findings", len(s.transitions()), 0)
}

func TestSliceThatIsGivenToAnotherServiceIsALossForTheFirst(t *testing.T) {
	o := slice("a", "web", "web-1")
	o.Owner = event.UID{}
	given := slice("a", "api", "web-1")
	given.Owner = event.UID{}
	s := newStory(t, grace40).starts(aService("web", false), aService("api", false), o)
	s.at(10).modified(given)
	equal(t, "removed", s.service("web").Removed, 1)
	equal(t, "outages", s.service("web").Outages, 1)
	equal(t, "ready at the other", s.service("api").Ready, 1)
}

func TestSliceThatNamesTheServiceOfAnotherNameAsItsOwnerIsNotOfThatService(t *testing.T) {
	crossed := slice("a", "api", "web-1")
	crossed.Owner = id("service/web")
	s := newStory(t, grace40).starts(aService("api", true), crossed)
	s.at(10).added(aService("web", true))
	equal(t, "ready", s.service("web").Ready, 0)
}

func TestDeletionOfTheOldServiceThatComesLateLeavesTheNewOne(t *testing.T) {
	second := aService("web", true)
	second.UID = id("second")
	s := newStory(t, grace40).starts(aService("web", true))
	s.at(10).lists(event.KindService, second).deleted(aService("web", true))
	equal(t, "Services", len(s.Services(s.now, nil)), 1)
}

func TestServiceThatAListShowsReplacedIsReportedAsRemoved(t *testing.T) {
	second := aService("web", true)
	second.UID = id("second")
	s := newStory(t, grace40).starts(aService("web", true))
	s.at(10).lists(event.KindService, second)
	equal(t, "removed", count[transition.ServiceRemoved](s), 1)
	s.at(20).deleted(second)
	equal(t, "removed in the end", count[transition.ServiceRemoved](s), 2)
}

func TestServiceThatARelistLacksIsGone(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), aService("api", true))
	s.at(10).lists(event.KindService, aService("api", true))
	equal(t, "Services", len(s.Services(s.now, nil)), 1)
	equal(t, "Services left behind", kept(s.services, "all"), 1)
}

func TestAddressThatASliceHasTwiceIsOne(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1", "-web-1"))
	equal(t, "ready", s.service("web").Ready, 1)
	equal(t, "not ready", s.service("web").NotReady, 0)
	s.at(10).modified(slice("a", "web", "~web-1"))
	equal(t, "removed", s.service("web").Removed, 1)
	equal(t, "turned not ready on the way", s.service("web").TurnedNotReady, 0)
}

func TestSliceOfAServiceThatNeverCameLeavesNothingBehind(t *testing.T) {
	fresh := slice("b", "web", "web-1")
	fresh.Owner = id("second")
	s := newStory(t, grace40).starts(aService("web", true))
	s.at(10).added(fresh).deleted(fresh, aService("web", true))
	equal(t, "Services left behind", kept(s.services, "all")+kept(s.services, "sources"), 0)
}

func TestAddressesThatLeftAServiceThatNeverCameAreForgotten(t *testing.T) {
	s := newStory(t, Settings{BounceWindow: 30 * time.Second}).starts(slice("a", "web", "web-1", "web-2"))
	s.at(10).modified(slice("a", "web", "web-2"))
	equal(t, "remembered leavers", kept(s.services, "all.any.leftRotation"), 1)
	equal(t, "batches", kept(s.services, "all.any.consumers.byWindow"), 1)
	s.at(75)
	s.Advance(s.now)
	equal(t, "remembered later", kept(s.services, "all.any.leftRotation"), 0)
	equal(t, "batches later", kept(s.services, "all.any.consumers.byWindow"), 0)
}

func TestSourceThatIsSetStaysWhetherOrNotThereAreSlices(t *testing.T) {
	s := newStory(t, Settings{AddressSource: event.KindEndpointSlice})
	s.watch(event.Unavailable, event.KindEndpointSlice)
	equal(t, "source", s.AddressSource(), event.KindEndpointSlice)
	s = newStory(t, Settings{AddressSource: event.KindEndpoints})
	s.lists(event.KindEndpointSlice)
	equal(t, "source", s.AddressSource(), event.KindEndpoints)
}

func TestFindingsNameTheAddressWhoeverCameFirst(t *testing.T) {
	mirror := func(addresses ...event.Address) *event.EndpointSlice {
		o := slice("mirror", "db")
		o.Owner, o.ManagedBy, o.Addresses = event.UID{}, "endpointslicemirroring-controller.k8s.io", addresses
		return o
	}
	s := newStory(t, grace40)
	s.lists(event.KindEndpointSlice, mirror(handWritten("db", "192.0.2.1").Addresses...)).lists(event.KindService, aService("db", false))
	s.at(10).modified(mirror()).Advance(clock(11))
	equal(t, "its address", of[transition.AddressLost](s)[0].IP.String(), "192.0.2.1")
}
