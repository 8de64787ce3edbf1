package main

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// fakeCluster is a cluster in virtual time, with kubelets, controllers and user actions. Its components modify API
// objects. Every write reaches kubeflap's watches, unless they are broken. Times are in seconds since the start.
type fakeCluster struct {
	sink   func(event.Event)
	now    time.Time
	random *rand.Rand
	due    []fakeStep
	serial int
	// deleted counts the deletions of nodes.
	deleted int

	version string
	// grace is the controller manager's grace period.
	grace time.Duration
	// leases is set if kubelets renew Leases. Otherwise they report their status at the same interval.
	leases   bool
	interval time.Duration

	nodes    []*fakeNode
	services []*fakeService
	// others are objects that no component modifies.
	others  []event.Object
	watches [event.NumKinds]fakeWatch
	manager fakeManager
	stalls  []span
	// from is the time at which kubeflap starts.
	from     float64
	watching bool
	// noReads is the reason why kubeflap cannot read Leases directly, or empty.
	noReads event.Reason
	// cut holds the periods in which only kubeflap's API server cannot reach etcd.
	cut []span
}

// span is a period, in seconds since the start.
type span struct{ from, to float64 }

var storyBegin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const forever = math.MaxInt32

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// newFakeCluster returns a cluster whose nodes are spread over the zones a, b and c. The Service shop/web has a pod on
// each node, and the Service shop/cart has pods on node-1 and node-2.
func newFakeCluster(nodes int) *fakeCluster {
	s := &fakeCluster{now: storyBegin, random: rand.New(rand.NewPCG(1, 2)), version: "v1.31.4", grace: 40 * time.Second, leases: true, interval: 10 * time.Second}
	for range nodes {
		s.addNode()
	}
	web, cart := s.service("web", true), s.service("cart", true)
	for i, n := range s.nodes {
		web.start(s, n)
		if i < 2 {
			cart.start(s, n)
		}
	}
	for _, p := range append(web.pods, cart.pods...) {
		p.serve()
	}
	web.fill()
	cart.fill()
	return s
}

type fakeStep struct {
	at     time.Time
	serial int
	do     func()
}

func (a fakeStep) compare(b fakeStep) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.serial, b.serial))
}

// at schedules an action at the given second. What happens at 0 is how the cluster begins.
func (s *fakeCluster) at(second float64, do func()) {
	if second == 0 {
		do()
		return
	}
	s.serial++
	step := fakeStep{storyBegin.Add(seconds(second)), s.serial, do}
	i, _ := slices.BinarySearchFunc(s.due, step, fakeStep.compare)
	s.due = slices.Insert(s.due, i, step)
}

// after schedules an action after a delay.
func (s *fakeCluster) after(d time.Duration, do func()) { s.at(s.second()+d.Seconds(), do) }

func (s *fakeCluster) second() float64 { return s.now.Sub(storyBegin).Seconds() }

// between returns a random duration between two limits in seconds.
func (s *fakeCluster) between(least, most float64) time.Duration {
	return seconds(least + s.random.Float64()*(most-least))
}

func (x span) has(t float64) bool { return t >= x.from && t < x.to }

// stalled returns the time at which a stalled etcd accepts writes again, or 0 if etcd is not stalled.
func (s *fakeCluster) stalled() float64 {
	for _, x := range s.stalls {
		if x.has(s.second()) {
			return x.to
		}
	}
	return 0
}

// stall makes etcd reject all writes for a period.
func (s *fakeCluster) stall(from, to float64) {
	s.stalls = append(s.stalls, span{from, to})
}

// fakeWatch is one of kubeflap's watches.
type fakeWatch struct {
	down, frozen bool
	// late is set if a list of the resource takes long.
	late bool
	held []event.Event
	// lacking is the reason why the resource cannot be watched, or empty.
	lacking event.Reason
}

// sendToWatch sends a copy of an object to its resource's watch. Nothing modifies the copy.
func (s *fakeCluster) sendToWatch(typ event.Type, o event.Object) {
	s.serial++
	o.Metadata().ResourceVersion = strconv.Itoa(s.serial)
	w := &s.watches[o.Kind()]
	e := event.Event{Seen: s.now, Kind: o.Kind(), Type: typ, Object: copyObject(o)}
	switch {
	case !s.watching || w.lacking != "" || w.down:
	case w.frozen:
		w.held = append(w.held, e)
	default:
		s.sink(e)
	}
}

func (s *fakeCluster) note(k event.Kind, typ event.Type, why event.Reason) {
	s.sink(event.Event{Seen: s.now, Kind: k, Type: typ, Reason: why})
}

// breaks makes the watch of a resource fail at the start of a period, and list again at its end.
func (s *fakeCluster) breaks(k event.Kind, from, to float64, why event.Reason) {
	s.at(from, func() { s.watches[k].down = true; s.note(k, event.Down, why) })
	s.at(to, func() { s.watches[k].down = false; s.list(k) })
}

// freezes makes a watch deliver nothing for a period, although its connection stays open. Afterwards, it delivers
// all events at once.
func (s *fakeCluster) freezes(k event.Kind, from, to float64) {
	s.at(from, func() { s.watches[k].frozen = true })
	s.at(to, func() { s.thaw(k) })
}

// cutsOff cuts kubeflap's API server, which is the last one, off from etcd for a period. Afterwards its watches deliver
// all events at once, beginning with the node watch.
func (s *fakeCluster) cutsOff(from, to float64) {
	s.cut = append(s.cut, span{from, to})
	s.manager.cut = s.cut
	for _, k := range append(event.Kinds(), event.OptionalKinds()...) {
		s.freezes(k, from, to)
	}
}

func (s *fakeCluster) thaw(k event.Kind) {
	w := &s.watches[k]
	held := w.held
	w.frozen, w.held = false, nil
	for _, e := range held {
		e.Seen = s.now
		s.sink(e)
	}
}

// lacks makes a resource absent or forbidden.
func (s *fakeCluster) lacks(k event.Kind, why event.Reason) {
	s.watches[k].lacking = why
}

// list sends a list of a resource to kubeflap.
func (s *fakeCluster) list(k event.Kind) {
	if why := s.watches[k].lacking; why != "" {
		s.note(k, event.Unavailable, why)
		return
	}
	s.note(k, event.Listing, "")
	for _, o := range s.objects() {
		if o.Kind() == k {
			s.sink(event.Event{Seen: s.now, Kind: k, Type: event.Listed, Object: copyObject(o)})
		}
	}
	s.note(k, event.Synced, "")
}

// objects returns all current API objects.
func (s *fakeCluster) objects() (all []event.Object) {
	for _, n := range s.nodes {
		if !n.gone {
			all = append(all, &n.Node)
			if s.leases {
				all = append(all, &n.lease)
			}
		}
	}
	for _, v := range s.services {
		all = append(all, &v.Service)
		all = append(all, v.objects()...)
		for _, p := range v.pods {
			all = append(all, &p.Pod)
		}
	}
	for i := range s.manager.leases {
		all = append(all, &s.manager.leases[i])
	}
	return append(all, s.others...)
}

// copyObject returns a copy that shares no modifiable data with the original.
func copyObject(o event.Object) event.Object {
	from := reflect.ValueOf(o).Elem()
	to := reflect.New(from.Type())
	to.Elem().Set(from)
	for i := range from.NumField() {
		switch x := from.Field(i); {
		case x.Kind() == reflect.Slice && !x.IsNil():
			to.Elem().Field(i).Set(reflect.AppendSlice(reflect.Zero(x.Type()), x))
		case x.Kind() == reflect.Pointer && !x.IsNil():
			to.Elem().Field(i).Set(reflect.New(x.Type().Elem()))
			to.Elem().Field(i).Elem().Set(x.Elem())
		}
	}
	return to.Interface().(event.Object)
}

func metaOf(kind, namespace, name string) event.Meta {
	return event.Meta{UID: event.ParseUID(kind + "/" + namespace + "/" + name), Namespace: namespace, Name: name}
}

// start starts the components, and schedules the start of kubeflap.
func (s *fakeCluster) start() {
	for _, n := range s.nodes {
		s.join(n)
	}
	s.after(seconds(2.3), s.monitor)
	s.manager.run(s)
	if s.from == 0 {
		s.watch()
		return
	}
	s.at(s.from, s.watch)
}

// watch starts kubeflap, which lists all resources.
func (s *fakeCluster) watch() {
	s.sink(event.Event{Seen: s.now, Kind: event.KindCluster, Type: event.Listed, Object: &event.Cluster{Version: s.version}})
	for _, k := range append(event.Kinds(), event.OptionalKinds()...) {
		if !s.watches[k].late {
			s.list(k)
		}
	}
	s.watching = true
}

// runUntil executes all actions up to a time.
func (s *fakeCluster) runUntil(second float64) {
	for t := storyBegin.Add(seconds(second)); len(s.due) > 0 && !s.due[0].at.After(t); {
		x := s.due[0]
		s.due = s.due[1:]
		s.now = x.at
		x.do()
	}
	s.now = storyBegin.Add(seconds(second))
}

// readLeases reads Leases directly. It returns etcd's state, or fails while etcd is stalled or cut off.
func (s *fakeCluster) readLeases(names []string) {
	s.note(event.KindLease, event.DirectReadStarted, "")
	if s.noReads != "" {
		s.after(50*time.Millisecond, func() { s.note(event.KindLease, event.DirectReadAnswered, s.noReads) })
		return
	}
	if s.stalled() > 0 || hasAny(s.cut, s.second()) {
		s.after(3*time.Second, func() { s.note(event.KindLease, event.DirectReadAnswered, event.NotReady("etcd")) })
		return
	}
	s.after(50*time.Millisecond, func() {
		for _, n := range s.nodes {
			for _, name := range names {
				if n.Name == name && !n.gone {
					s.sink(event.Event{Seen: s.now, Kind: event.KindLease, Type: event.DirectReadLease, Object: copyObject(&n.lease)})
				}
			}
		}
		s.note(event.KindLease, event.DirectReadAnswered, "")
	})
}

// reopen closes a lagging Lease watch, and lists the Leases again.
func (s *fakeCluster) reopen() {
	if w := &s.watches[event.KindLease]; w.frozen {
		s.note(event.KindLease, event.Down, event.ReasonSilent)
		w.frozen, w.held = false, nil
		s.list(event.KindLease)
	}
}

func nodeNamed(i int) string { return fmt.Sprintf("node-%d", i) }
