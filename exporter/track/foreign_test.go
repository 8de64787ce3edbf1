package track

import (
	"slices"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// managedSlice returns a slice of the Service web with this manager.
func managedSlice(manager string, addresses ...string) *event.EndpointSlice {
	o := slice("foreign", "web", addresses...)
	o.Owner, o.ManagedBy = event.UID{}, manager
	return o
}

func TestForeignAddresses(t *testing.T) {
	own := slice("a", "web", "web-1", "web-2")
	edited := func(writer string, more ...string) *event.Endpoints {
		return &event.Endpoints{
			Meta:   event.Meta{UID: id("endpoints/web"), Namespace: "shop", Name: "web"},
			Writer: writer, Addresses: slice("", "web", append([]string{"web-1", "web-2"}, more...)...).Addresses,
		}
	}
	byHand := handWritten("web", "192.0.2.1")
	byHand.Writer = "kubectl-edit"
	byKnown := handWritten("web", "192.0.2.1")
	byKnown.Writer = "our-controller"
	for _, c := range []struct {
		name     string
		selector bool
		objects  []event.Object
		want     int
	}{
		{"only the controller's slice", true, []event.Object{own}, 0},
		{"a slice of somebody", true, []event.Object{own, managedSlice("someone.example.com", "x", "-dead")}, 2},
		{"a slice that nobody is named for", true, []event.Object{own, managedSlice("", "x")}, 1},
		{"somebody's slice of a Service without a selector", false, []event.Object{managedSlice("someone.example.com", "x")}, 0},
		{"Cilium Cluster Mesh", true, []event.Object{own, managedSlice("endpointslice-mesh-controller.cilium.io", "x")}, 0},
		{"Submariner", true, []event.Object{own, managedSlice("lighthouse-agent.submariner.io", "x")}, 0},
		{"Karmada", true, []event.Object{own, managedSlice("endpointslice-dispatch-controller.karmada.io", "x")}, 0},
		{"a manager that the operator named", true, []event.Object{own, managedSlice("our-controller", "x")}, 0},
		{"Endpoints of the controller", true, []event.Object{own, edited("kube-controller-manager")}, 0},
		{"Endpoints of a renamed controller", true, []event.Object{own, edited("some-distribution")}, 0},
		{"Endpoints that somebody added a pod to", true, []event.Object{own, edited("kube-controller-manager"), edited("kubectl-edit", "web-3")}, 1},
		{"Endpoints that somebody made a pod ready in", true, []event.Object{own, edited("kube-controller-manager", "-web-3"), edited("kubectl-edit", "web-3")}, 1},
		{"Endpoints that somebody wrote as they were", true, []event.Object{own, edited("kube-controller-manager"), edited("kubectl-edit")}, 0},
		{"Endpoints that somebody edited and restored", true, []event.Object{own, edited("kube-controller-manager"), edited("x", "web-3"), edited("y")}, 0},
		{"Endpoints that the controller restored", true, []event.Object{own, edited("kube-controller-manager"), edited("x", "web-3"), edited("kube-controller-manager")}, 0},
		{"manually managed Endpoints", true, []event.Object{own, byHand}, 1},
		{"manually managed Endpoints without a selector", false, []event.Object{byHand}, 0},
		{"Endpoints of a manager that the operator named", true, []event.Object{own, byKnown}, 0},
		{"an address in Endpoints and in a slice", true, []event.Object{edited("kube-controller-manager"), edited("x", "web-3", "web-4"), managedSlice("y", "web-3")}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := grace40
			settings.KnownManagers = []string{"our-controller"}
			s := newStory(t, settings).starts(aService("web", c.selector)).added(c.objects...)
			equal(t, "foreign addresses", s.service("web").ForeignAddresses, c.want)
			// If the selector matches no pod, manual Endpoints are a conflict instead.
			reported := count[transition.ForeignAddresses](s) - count[transition.ForeignAddressesEnded](s) + count[transition.SelectorConflict](s)
			equal(t, "reported", reported > 0, c.want > 0)
		})
	}
}

func TestForeignAddressesFollowTheirSliceAndTheSelector(t *testing.T) {
	s := newStory(t, grace40).starts(managedSlice("someone.example.com", "x", "y"), aService("web", false))
	equal(t, "without a selector", s.service("web").ForeignAddresses, 0)
	s.at(10).modified(aService("web", true))
	equal(t, "with a selector", s.service("web").ForeignAddresses, 2)
	s.at(20).modified(managedSlice("someone.example.com", "x"))
	equal(t, "after one left", s.service("web").ForeignAddresses, 1)
	s.at(30).modified(managedSlice("endpointslice-controller.k8s.io", "x"))
	equal(t, "after the controller took the slice", s.service("web").ForeignAddresses, 0)
	s.at(40).modified(managedSlice("someone.example.com", "x"))
	s.at(50).deleted(managedSlice("someone.example.com", "x"))
	equal(t, "after the slice was deleted", s.service("web").ForeignAddresses, 0)
}

func TestForeignAddressesAreReported(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"))
	s.at(10).added(managedSlice("someone.example.com", "x", "-dead"))
	equal(t, "reported", count[transition.ForeignAddresses](s), 1)
	equal(t, "reported as", of[transition.ForeignAddresses](s)[0].String(),
		"service shop/web: has a selector, and 2 foreign addresses (1 ready) in EndpointSlice foreign (managed by someone.example.com)")
	s.at(20).modified(managedSlice("someone.example.com", "x"))
	equal(t, "reported while they stay", count[transition.ForeignAddresses](s), 1)
	s.at(30).modified(managedSlice("someone.example.com"))
	equal(t, "ended", count[transition.ForeignAddressesEnded](s), 1)
	s.at(40).modified(managedSlice("someone.example.com", "x"))
	equal(t, "reported again", count[transition.ForeignAddresses](s), 2)
}

func TestForeignAddressesEnd(t *testing.T) {
	foreign, other := managedSlice("someone.example.com", "x"), managedSlice("someone.example.com", "x")
	other.Service = "db"
	for name, ends := range map[string]func(s *story){
		"the slice is deleted":             func(s *story) { s.deleted(foreign) },
		"a list lacks the slice":           func(s *story) { s.lists(event.KindEndpointSlice, slice("a", "web", "web-1")) },
		"the slice is given away":          func(s *story) { s.modified(other) },
		"the Service loses its selector":   func(s *story) { s.modified(aService("web", false)) },
		"a controller takes the slice":     func(s *story) { s.modified(managedSlice("endpointslice-controller.k8s.io", "x")) },
		"another slice is deleted as well": func(s *story) { s.deleted(slice("a", "web", "web-1"), foreign) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"), foreign)
			equal(t, "reported at the start", count[transition.ForeignAddresses](s), 1)
			ends(s.at(10))
			equal(t, "ended", count[transition.ForeignAddressesEnded](s), 1)
			equal(t, "reported once", count[transition.ForeignAddresses](s), 1)
		})
	}
}

func TestTheServiceOfForeignAddressesMayBeSeenLast(t *testing.T) {
	s := newStory(t, grace40).lists(event.KindEndpointSlice, managedSlice("someone.example.com", "x")).lists(event.KindService, aService("web", true))
	equal(t, "reported", count[transition.ForeignAddresses](s), 1)
}

// TestAnAddressAddedToTheEndpointsOfPodsIsForeign checks that an address that somebody adds to a controller's Endpoints
// is foreign, and not a selector conflict.
func TestAnAddressAddedToTheEndpointsOfPodsIsForeign(t *testing.T) {
	edited := handWritten("web", "192.0.2.1")
	edited.Writer = "kubectl-edit"
	edited.Addresses = append(edited.Addresses, slice("", "web", "web-1").Addresses...)
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"), edited)
	equal(t, "conflict", s.service("web").SelectorConflict, false)
	equal(t, "reported conflicts", count[transition.SelectorConflict](s), 0)
	equal(t, "object", of[transition.ForeignAddresses](s)[0].Object, "Endpoints web (written by kubectl-edit)")
	s.at(10).modified(slice("a", "web"), handWritten("web", "192.0.2.1"))
	equal(t, "conflict without pods", s.service("web").SelectorConflict, true)
	equal(t, "no longer foreign: the selector is wrong", count[transition.ForeignAddressesEnded](s), 1)
}

func TestWritersThatUndoEachOther(t *testing.T) {
	const a, b = "192.0.2.1", "192.0.2.2"
	type write struct {
		at         float64
		writer, ip string
	}
	for _, c := range []struct {
		name     string
		selector bool
		writes   []write
		want     int
	}{
		{"each undoes the other", false, []write{{0, "helm", a}, {10, "operator", b}, {20, "helm", a}, {30, "operator", b}}, 1},
		{"and they go on", false, []write{{0, "helm", a}, {10, "operator", b}, {20, "helm", a}, {30, "operator", b}, {40, "helm", a}}, 2},
		{"one steady writer", false, []write{{0, "Patroni", a}, {10, "Patroni", b}, {20, "Patroni", a}, {30, "Patroni", b}}, 0},
		{"one correction", false, []write{{0, "operator", a}, {10, "kubectl-edit", b}, {20, "operator", a}}, 0},
		{"one person with two commands", false, []write{{0, "kubectl-edit", a}, {10, "kubectl-client-side-apply", b}, {20, "kubectl-edit", a}, {30, "kubectl-patch", b}}, 0},
		{"hours apart", false, []write{{0, "helm", a}, {7200, "operator", b}, {14400, "helm", a}, {21600, "operator", b}}, 0},
		{"a new address each time", false, []write{{0, "helm", a}, {10, "operator", b}, {20, "helm", "192.0.2.3"}, {30, "operator", "192.0.2.4"}}, 0},
		{"the same address", false, []write{{0, "helm", a}, {10, "operator", a}, {20, "helm", a}, {30, "operator", a}}, 0},
		{"beside a selector it is a conflict", true, []write{{0, "helm", a}, {10, "operator", b}, {20, "helm", a}, {30, "operator", b}}, 0},
		{"an unknown writer", false, []write{{0, "helm", a}, {10, "", b}, {20, "helm", a}, {30, "", b}}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t, grace40).starts(aService("db", c.selector))
			for _, w := range c.writes {
				o := handWritten("db", w.ip)
				o.Writer = w.writer
				s.at(w.at).modified(o)
			}
			contested := of[transition.AddressesContested](s)
			equal(t, "reported", len(contested), c.want)
			if c.want > 0 {
				equal(t, "object", contested[0].Object, "Endpoints db")
				equal(t, "writers", contested[0].Writers, [2]string{"helm", "operator"})
			}
		})
	}
}

// TestLossByAForeignSlice covers an address that only leaves the slice, while its pod stays ready.
func TestLossByAForeignSlice(t *testing.T) {
	for _, c := range []struct {
		name, manager string
		selector      bool
		want          cause.Cause
	}{
		{"foreign", "someone.example.com", true, cause.ManualWrite},
		{"known", "lighthouse-agent.submariner.io", true, cause.Unknown},
		{"foreign, without a selector", "someone.example.com", false, cause.Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t, grace40).starts(aService("web", c.selector), aPod("web-1", ready), managedSlice(c.manager, "web-1", "web-2"))
			s.at(10).modified(managedSlice(c.manager, "web-2"))
			s.Advance(s.now.Add(2 * lagWait))
			s.onlyLoss(t, c.want)
		})
	}
	for manager, want := range map[string]cause.Cause{
		"someone.example.com": cause.ManualWrite, "lighthouse-agent.submariner.io": cause.Unknown,
	} {
		t.Run("deleted, of "+manager, func(t *testing.T) {
			s := newStory(t, grace40).starts(aService("web", true), aPod("web-1", ready), managedSlice(manager, "web-1"))
			s.at(10).deleted(managedSlice(manager, "web-1"))
			s.Advance(s.now.Add(2 * lagWait))
			s.onlyLoss(t, want)
		})
	}
	t.Run("the pod failed", func(t *testing.T) {
		s := newStory(t, grace40).starts(aService("web", true), aPod("web-1", ready), managedSlice("someone.example.com", "web-1"))
		s.at(10).modified(unready("ContainersNotReady")).modified(managedSlice("someone.example.com", "-web-1"))
		s.Advance(s.now.Add(2 * lagWait))
		s.onlyLoss(t, cause.ProbeFailed)
	})
}

// TestAddressesWithdrawnFromEndpoints removes pods from a controller's Endpoints, which adds no foreign address.
func TestAddressesWithdrawnFromEndpoints(t *testing.T) {
	endpoints := func(writer string, addresses ...string) *event.Endpoints {
		return &event.Endpoints{Meta: handWritten("web").Meta, Writer: writer, Addresses: slice("", "web", addresses...).Addresses}
	}
	truncated := endpoints("kubectl-edit", "web-1")
	truncated.Truncated = true
	other := aService("web", false)
	for _, c := range []struct {
		name    string
		edited  *event.Endpoints
		then    event.Object
		want    int
		foreign int
	}{
		{"removed, and restored by the controller", endpoints("kubectl-edit", "web-1", "-web-3"), endpoints("kube-controller-manager", "web-1", "web-2", "-web-3"), 1, 0},
		{"removed, and restored by hand", endpoints("kubectl-edit", "web-1"), endpoints("kubectl-patch", "web-1", "web-2"), 1, 0},
		{"made not ready", endpoints("kubectl-edit", "web-1", "-web-2", "-web-3"), endpoints("kube-controller-manager", "web-1", "web-2", "-web-3"), 1, 0},
		{"all removed, and the Service loses its selector", endpoints("kubectl-edit"), other, 2, 0},
		{"one replaced by another", endpoints("kubectl-edit", "web-1", "web-9"), endpoints("kube-controller-manager", "web-1", "web-2"), 1, 1},
		{"only one that is not ready removed", endpoints("kubectl-edit", "web-1", "web-2"), nil, 0, 0},
		{"removed by the controller", endpoints("kube-controller-manager", "web-1"), nil, 0, 0},
		{"left out, as there are too many", truncated, nil, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1", "web-2", "-web-3"), endpoints("kube-controller-manager", "web-1", "web-2", "-web-3"))
			s.at(10).modified(c.edited)
			missing := 0
			for _, x := range of[transition.AddressesWithdrawn](s) {
				missing += x.Count
			}
			equal(t, "withdrawn", missing, c.want)
			equal(t, "foreign", s.service("web").ForeignAddresses, c.foreign)
			if c.then != nil {
				s.at(20).modified(c.then)
				equal(t, "returned", count[transition.WithdrawnAddressesReturned](s), 1)
				equal(t, "foreign afterwards", s.service("web").ForeignAddresses, 0)
			}
			equal(t, "resets", s.service("web").ResetsWithSelector, 0)
		})
	}
	t.Run("deleted", func(t *testing.T) {
		s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"), endpoints("kube-controller-manager", "web-1"))
		s.at(10).modified(endpoints("kubectl-edit")).at(20).deleted(endpoints("kubectl-edit"))
		equal(t, "returned", count[transition.WithdrawnAddressesReturned](s), 1)
	})
}

// TestForeignAddressesThatAreRemoved checks that removing foreign addresses, which repairs the Service, is neither a
// reset nor a loss that causes an alert.
func TestForeignAddressesThatAreRemoved(t *testing.T) {
	own, foreign := slice("a", "web", "web-1"), handSlice("x", true, "192.0.2.1")
	known := handSlice("x", true, "192.0.2.1")
	known.ManagedBy = "endpointslice-mesh-controller.cilium.io"
	pods := func(writer string) *event.Endpoints {
		return &event.Endpoints{Meta: handWritten("web").Meta, Writer: writer, Addresses: own.Addresses}
	}
	edited := pods("kubectl-edit")
	edited.Addresses = slices.Concat(own.Addresses, handWritten("web", "192.0.2.1").Addresses)
	for _, c := range []struct {
		name   string
		source event.Kind
		starts []event.Object
		then   func(s *story)
		// last is the cause of the last loss. lost is the number of lost ready addresses.
		last cause.Cause
		lost uint64
	}{
		{"a slice is deleted", 0, []event.Object{own, foreign}, func(s *story) { s.deleted(foreign) }, cause.Unknown, 1},
		{"a slice is emptied", 0, []event.Object{own, foreign}, func(s *story) { s.modified(handSlice("x", true)) }, cause.Unknown, 1},
		{"a slice that no list shows", 0, []event.Object{own, foreign}, func(s *story) { s.lists(event.KindEndpointSlice, own) }, cause.Unknown, 1},
		{"a list shows a slice without it", 0, []event.Object{own, foreign}, func(s *story) { s.lists(event.KindEndpointSlice, handSlice("x", true), own) }, cause.Unknown, 1},
		{"a slice, after the pods left", 0, []event.Object{own, foreign}, func(s *story) { s.modified(slice("a", "web", "~web-1")).at(70).deleted(foreign) }, cause.PodDeleted, 2},
		{"a slice, long after the pods left", 0, []event.Object{own, foreign}, func(s *story) { s.modified(slice("a", "web", "~web-1")).at(400).deleted(foreign) }, cause.ManualWrite, 2},
		{"the only slice", 0, []event.Object{foreign}, func(s *story) { s.deleted(foreign) }, cause.ManualWrite, 1},
		{"the slice of a known manager", 0, []event.Object{known}, func(s *story) { s.deleted(known) }, cause.Unknown, 1},
		{"in Endpoints, by hand", event.KindEndpoints, []event.Object{edited}, func(s *story) { s.modified(pods("kubectl-edit")) }, cause.Unknown, 1},
		{"in Endpoints, by another", event.KindEndpoints, []event.Object{edited}, func(s *story) { s.modified(pods("kubectl-patch")) }, cause.Unknown, 1},
		{"in Endpoints, by the controller", event.KindEndpoints, []event.Object{pods("kube-controller-manager"), edited}, func(s *story) { s.modified(pods("kube-controller-manager")) }, cause.Unknown, 1},
		{"in Endpoints, with the pods", event.KindEndpoints, []event.Object{own, edited}, func(s *story) { s.modified(unready("ContainersNotReady"), handWritten("web")) }, cause.ProbeFailed, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			settings := grace40
			settings.AddressSource = c.source
			s := newStory(t, settings).starts(aService("web", true), aPod("web-1", ready)).at(10)
			for _, o := range c.starts {
				s.modified(o)
			}
			c.then(s.at(60))
			s.Advance(s.now.Add(lagWait))
			v := s.service("web")
			equal(t, "resets", v.ResetsWithSelector+v.ResetsSelectorless, 0)
			equal(t, "reported resets", count[transition.EndpointsReset](s), 0)
			equal(t, "conflict", v.SelectorConflict, false)
			equal(t, "foreign addresses", v.ForeignAddresses, 0)
			equal(t, "cause of the last loss", v.LastCause, c.last)
			equal(t, "lost", v.Lost, c.lost)
		})
	}
}

func applied(o *event.Endpoints) *event.Endpoints { o.LastApplied = true; return o }

func writtenBy(other string, o *event.Endpoints) *event.Endpoints { o.OtherWriter = other; return o }

func TestEndpointsOverwrittenBeforeTheStart(t *testing.T) {
	restored := &event.Endpoints{
		Meta:        event.Meta{UID: id("endpoints/web"), Namespace: "shop", Name: "web"},
		LastApplied: true, Addresses: slice("", "web", "-web-1").Addresses,
	}
	known := grace40
	known.KnownManagers = []string{"our-controller"}
	for _, c := range []struct {
		name     string
		settings Settings
		objects  []event.Object
		want     bool
	}{
		{"applied", grace40, []event.Object{aService("web", true), applied(handWritten("web"))}, true},
		{"another writer still owns them", grace40, []event.Object{aService("web", true), writtenBy("helm", handWritten("web"))}, true},
		{"without a selector", grace40, []event.Object{aService("web", false), applied(handWritten("web"))}, false},
		{"scaled to zero, Endpoints of the controller", grace40, []event.Object{aService("web", true), handWritten("web")}, false},
		{"a distribution's controller", grace40, []event.Object{aService("web", true), writtenBy("k3s", handWritten("web"))}, false},
		{"a known manager", known, []event.Object{aService("web", true), writtenBy("our-controller", handWritten("web"))}, false},
		{"a pod matches", grace40, []event.Object{aService("web", true), restored}, false},
		{"a pod matches, as the slices say", grace40, []event.Object{aService("web", true), slice("a", "web", "-web-1"), applied(handWritten("web"))}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t, c.settings).starts(c.objects...)
			conflicts := of[transition.SelectorConflict](s)
			equal(t, "conflict", s.service("web").SelectorConflict, c.want)
			equal(t, "reported", len(conflicts) == 1 && conflicts[0].Overwritten && conflicts[0].Count == 0, c.want)
			equal(t, "has or had manually managed addresses", s.service("web").Manual, c.want)
			equal(t, "resets", s.service("web").ResetsWithSelector, 0)
		})
	}
}

func TestAConflictOfOverwrittenEndpointsEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		ends event.Object
	}{
		{"without the selector", aService("web", false)},
		{"once a pod matches", slice("a", "web", "-web-1")},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStory(t, grace40).starts(aService("web", true), applied(handWritten("web")))
			s.at(10).modified(applied(handWritten("web")))
			s.at(20).modified(c.ends)
			equal(t, "conflict", s.service("web").SelectorConflict, false)
			s.at(30).modified(aService("web", true), slice("a", "web"), applied(handWritten("web")))
			equal(t, "afterwards", s.service("web").SelectorConflict, false)
			equal(t, "reported", count[transition.SelectorConflict](s), 1)
			equal(t, "ended", count[transition.SelectorConflictEnded](s), 1)
		})
	}
}

// kubeflap has seen matching pods, so the annotation is older than they are.
func TestAServiceScaledToZeroWhileSeenIsNoConflict(t *testing.T) {
	full := applied(handWritten("web"))
	full.Addresses = slice("", "web", "web-1").Addresses
	s := newStory(t, grace40).starts(aService("web", true), full, slice("a", "web", "web-1"))
	s.at(10).modified(slice("a", "web"), applied(handWritten("web")))
	equal(t, "conflict", s.service("web").SelectorConflict, false)
}
