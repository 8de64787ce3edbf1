package track

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

type objects map[event.UID]event.Object

// cluster is a small cluster with random events and six watches.
type cluster struct {
	*rand.Rand
	t       *testing.T
	now     time.Time
	objects map[event.Kind]objects
	streams map[event.Kind]*stream
	clocks  map[string]time.Duration
	serial  int
	sinks   []func(event.Event)
	sent    []event.Event
	// listing is the resource that is being listed.
	listing event.Kind
	// steady is set if the watches work all the time, and Endpoints are never truncated.
	steady bool
}

// stream is the watch of a resource. Events wait while it lags or is broken, and are lost if it must list again.
type stream struct {
	lags, broken, lost, absent bool
	waiting                    []event.Event
}

func newCluster(t *testing.T, seed uint64, absent event.Kind, sinks ...func(event.Event)) *cluster {
	c := &cluster{
		Rand: rand.New(rand.NewPCG(seed, 1)), t: t, now: zero, objects: map[event.Kind]objects{},
		streams: map[event.Kind]*stream{}, clocks: map[string]time.Duration{}, sinks: sinks,
	}
	for _, k := range event.Kinds() {
		c.objects[k], c.streams[k] = objects{}, &stream{absent: true}
	}
	for range 40 {
		c.something()
	}
	kinds := event.Kinds()
	// Endpoints come first, before the slices that mirror them. The other kinds are in random order.
	c.Shuffle(len(kinds)-1, func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	slices.Reverse(kinds)
	for _, k := range kinds {
		if c.streams[k].absent = k == absent; k == absent {
			c.tell(event.Event{Kind: k, Type: event.Unavailable})
		} else {
			c.list(k)
		}
	}
	return c
}

func (c *cluster) tell(e event.Event) {
	e.Seen = c.now
	c.sent = append(c.sent, e)
	for _, sink := range c.sinks {
		sink(e)
	}
}

func (c *cluster) list(k event.Kind) {
	c.tell(event.Event{Kind: k, Type: event.Listing})
	for _, o := range c.pickAll(c.objects[k]) {
		if c.chance(5) {
			c.list(k) // the list was interrupted and starts again
			return
		}
		c.tell(event.Event{Kind: k, Type: event.Listed, Object: o})
		c.meanwhile(k)
	}
	waiting := c.streams[k].waiting
	*c.streams[k] = stream{}
	c.tell(event.Event{Kind: k, Type: event.Synced})
	for _, e := range waiting {
		c.tell(e)
	}
}

// meanwhile makes something else happen during a large list. Events of the listed resource wait until the list is
// complete.
func (c *cluster) meanwhile(k event.Kind) {
	if c.listing != 0 || !c.chance(20) || !(k == event.KindPod || k == event.KindEndpoints || k == event.KindEndpointSlice) {
		return
	}
	c.listing = k
	s := c.streams[k]
	*s = stream{lags: true, waiting: s.waiting}
	c.something()
	c.listing = 0
}

func (c *cluster) emit(typ event.Type, o event.Object) {
	e := event.Event{Kind: o.Kind(), Type: typ, Object: o}
	switch s := c.streams[e.Kind]; {
	case s.absent || s.lost:
	case s.broken || s.lags:
		s.waiting = append(s.waiting, e)
	default:
		c.tell(e)
	}
}

func (c *cluster) put(o event.Object) {
	typ := event.Modified
	if c.objects[o.Kind()][o.Metadata().UID] == nil {
		typ = event.Added
	}
	c.objects[o.Kind()][o.Metadata().UID] = o
	c.emit(typ, o)
}

func (c *cluster) remove(o event.Object) {
	delete(c.objects[o.Kind()], o.Metadata().UID)
	c.emit(event.Deleted, o)
}

// catchUp delivers the waiting events.
func (c *cluster) catchUp(k event.Kind) {
	waiting := c.streams[k].waiting
	*c.streams[k] = stream{}
	for _, e := range waiting {
		c.tell(e)
	}
}

func (c *cluster) newUID() event.UID {
	c.serial++
	return id(fmt.Sprint("object ", c.serial))
}

func (c *cluster) chance(percent int) bool { return c.IntN(100) < percent }

// pickAll returns all objects in a random order that only depends on the seed.
func (c *cluster) pickAll(from objects) []event.Object {
	all := slices.SortedFunc(maps.Values(from), func(a, b event.Object) int {
		return strings.Compare(a.Metadata().UID.String(), b.Metadata().UID.String())
	})
	c.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func pick[T event.Object](c *cluster, k event.Kind) (T, bool) {
	var none T
	all := c.pickAll(c.objects[k])
	if len(all) == 0 {
		return none, false
	}
	return all[0].(T), true
}

func (c *cluster) named(k event.Kind, name string) event.Object {
	for _, o := range c.objects[k] {
		if o.Metadata().Name == name {
			return o
		}
	}
	return nil
}

// something makes a random event happen after a random time.
func (c *cluster) something() {
	c.now = c.now.Add(time.Duration(c.IntN(4000)) * time.Millisecond)
	switch n := c.IntN(100); {
	case n < 25:
		c.nodeDoes()
	case n < 35:
		c.serviceDoes()
	case n < 65:
		c.sliceDoes()
	case n < 80:
		c.endpointsDo()
	case n < 90:
		c.podDoes()
	default:
		c.watchDoes()
	}
}

func (c *cluster) watchDoes() {
	k := event.Kinds()[c.IntN(len(event.Kinds()))]
	s := c.streams[k]
	switch {
	case s.absent || k == c.listing || c.steady:
	case s.lags:
		c.catchUp(k)
	case s.lost:
		c.list(k)
	case s.broken:
		c.tell(event.Event{Kind: k, Type: event.Up})
		c.catchUp(k)
	case c.chance(20):
		c.tell(event.Event{Kind: k, Type: event.Down})
		c.now = c.now.Add(100 * time.Millisecond)
		c.tell(event.Event{Kind: k, Type: event.Up})
	case c.chance(50):
		c.tell(event.Event{Kind: k, Type: event.Down, Reason: "connection refused"})
		s.broken, s.lost = true, c.chance(60)
	case k != event.KindLease && k != event.KindNode:
		s.lags = true
	}
}

func (c *cluster) nodeDoes() {
	name := fmt.Sprint("node-", c.IntN(3))
	n, _ := c.named(event.KindNode, name).(*event.Node)
	switch what := c.IntN(100); {
	case n == nil:
		c.put(&event.Node{
			Meta:  event.Meta{UID: c.newUID(), Name: name},
			Ready: &event.Condition{Status: notReady, LastHeartbeatTime: c.now, LastTransitionTime: c.now},
		})
		delete(c.clocks, name)
		c.renew(name)
	case what < 3:
		c.remove(n)
		if l := c.named(event.KindLease, name); l != nil {
			c.remove(l)
		}
	case what < 70:
		c.renew(name)
	case what < 75:
		c.clocks[name] -= time.Duration(c.IntN(300)) * time.Second
	default:
		c.report(*n)
	}
}

// renew renews a node's Lease. It creates no Lease while the node watch is broken, because the watch could not show the
// new node.
func (c *cluster) renew(name string) {
	if nodes := c.streams[event.KindNode]; c.named(event.KindLease, name) == nil && (nodes.broken || nodes.lost) {
		return
	}
	l := event.Lease{Meta: event.Meta{UID: c.newUID(), Name: name}}
	if old, ok := c.named(event.KindLease, name).(*event.Lease); ok {
		l = *old
	}
	l.RenewTime = c.now.Add(c.clocks[name])
	c.put(&l)
}

// report writes a node's status, either as the kubelet or as the node controller.
func (c *cluster) report(n event.Node) {
	r := *n.Ready
	to := []event.Status{ready, ready, notReady, unknown}[c.IntN(4)]
	if r.Status != to {
		r.LastTransitionTime = c.now.Add(c.clocks[n.Name])
	}
	switch {
	case to != unknown:
		r.Reason, r.LastHeartbeatTime = "", c.now.Add(c.clocks[n.Name])
	case r.Status != unknown:
		r.Reason = "NodeStatusUnknown"
	}
	r.Status, n.Ready = to, &r
	c.put(&n)
}

func (c *cluster) serviceDoes() {
	name := fmt.Sprint("web-", c.IntN(2))
	s, _ := c.named(event.KindService, name).(*event.Service)
	switch {
	case s == nil:
		c.create(name)
	case c.chance(30):
		c.remove(s)
		if c.chance(60) {
			c.create(name)
		}
	default:
		again := *s
		again.Selector = c.selector()
		c.put(&again)
	}
}

func (c *cluster) create(name string) {
	c.put(&event.Service{Meta: event.Meta{UID: c.newUID(), Namespace: "shop", Name: name}, Type: "ClusterIP", Selector: c.selector()})
}

func (c *cluster) selector() map[string]string {
	if c.chance(50) {
		return nil
	}
	return map[string]string{"app": "web"}
}

func (c *cluster) sliceDoes() {
	o, ok := pick[*event.EndpointSlice](c, event.KindEndpointSlice)
	switch n := c.IntN(100); {
	case !ok || n < 15:
		c.newSlice()
	case n < 30:
		c.remove(o)
	case n < 45:
		c.moveAddresses(o)
	default:
		again := *o
		again.Addresses = c.addresses(!o.Owner.IsZero())
		c.put(&again)
	}
}

// newSlice creates a slice that is owned by the Service, manually managed, or a mirror.
func (c *cluster) newSlice() {
	s, ok := pick[*event.Service](c, event.KindService)
	if !ok {
		return
	}
	uid := c.newUID()
	o := &event.EndpointSlice{Meta: event.Meta{UID: uid, Namespace: "shop", Name: "slice-" + uid.String()}, Service: s.Name}
	switch c.IntN(4) {
	case 0:
	case 1:
		o.ManagedBy = "endpointslicemirroring-controller.k8s.io"
	default:
		o.Owner, o.ManagedBy = s.UID, "endpointslice-controller.k8s.io"
	}
	o.Addresses = c.addresses(!o.Owner.IsZero())
	c.put(o)
}

// moveAddresses moves addresses from one slice to another of the same Service, and updates the two slices in random
// order.
func (c *cluster) moveAddresses(from *event.EndpointSlice) {
	to, ok := pick[*event.EndpointSlice](c, event.KindEndpointSlice)
	if !ok || to == from || to.Owner != from.Owner || to.Service != from.Service {
		return
	}
	emptied, filled := *from, *to
	filled.Addresses, emptied.Addresses = slices.Concat(to.Addresses, from.Addresses), nil
	if c.chance(50) {
		c.put(&filled)
		c.put(&emptied)
		return
	}
	c.put(&emptied)
	c.put(&filled)
}

// addresses returns a random choice of the addresses of five pods and, unless derived is set, of two manual entries.
func (c *cluster) addresses(derived bool) []event.Address {
	var some []event.Address
	for range c.IntN(4) {
		n := c.IntN(7)
		a := event.Address{IP: fmt.Sprint("10.0.0.", n), UID: id(fmt.Sprint("pod ", n)), ByHand: n > 4}
		if a.ByHand && derived {
			continue
		}
		a.Ready, a.Terminating = c.chance(50), c.chance(20)
		some = append(some, a)
	}
	return some
}

func (c *cluster) endpointsDo() {
	o, ok := pick[*event.Endpoints](c, event.KindEndpoints)
	switch n := c.IntN(100); {
	case !ok || n < 15:
		name := fmt.Sprint("web-", c.IntN(2))
		if c.named(event.KindEndpoints, name) == nil {
			c.put(&event.Endpoints{Meta: event.Meta{UID: c.newUID(), Namespace: "shop", Name: name}, Addresses: c.addresses(false)})
		}
	case n < 25:
		c.remove(o)
	default:
		again := *o
		again.Addresses, again.Truncated = c.addresses(false), c.chance(10) && !c.steady
		if again.Addresses != nil && c.chance(20) {
			again.Addresses = nil
		}
		c.put(&again)
	}
}

func (c *cluster) podDoes() {
	name := fmt.Sprint("pod-", c.IntN(4))
	p, _ := c.named(event.KindPod, name).(*event.Pod)
	if p != nil && c.chance(10) {
		c.remove(p)
		return
	}
	uid := c.newUID()
	if p != nil {
		uid = p.UID
	}
	again := &event.Pod{
		Meta:  event.Meta{UID: uid, Namespace: fmt.Sprint("space-", len(name)%2+int(uid[0])%2), Name: name},
		Phase: []string{"Pending", "Running", "Running"}[c.IntN(3)],
		Ready: &event.Condition{Status: event.Status(c.IntN(3))},
		Gates: int(uid[1]) % 2,
	}
	if again.Phase == "Running" {
		again.Node = fmt.Sprint("node-", int(uid[2])%3)
	}
	for _, i := range c.Perm(2) {
		again.Containers = append(again.Containers, event.Container{
			Name: fmt.Sprint("c", i), Image: fmt.Sprint("app:", c.IntN(2)), Restarts: int32(c.IntN(3)),
		})
	}
	c.put(again)
}

func TestSameEventsGiveTheSameFindingsInTheSameOrder(t *testing.T) {
	for seed := range uint64(4) {
		var found [2][]transition.Transition
		var trackers [2]func(event.Event)
		for i := range trackers {
			f := New(Settings{GracePeriod: 40 * time.Second})
			trackers[i] = func(e event.Event) { found[i] = append(found[i], f.Apply(e)...) }
		}
		c := newCluster(t, seed, 0, trackers[0], trackers[1])
		for range 2000 {
			c.something()
		}
		for i := range found[0] {
			if i >= len(found[1]) || !reflect.DeepEqual(found[0][i], found[1][i]) {
				t.Fatalf("seed %d: transition %d is %s, and again %s", seed, i, found[0][i], found[1][i])
			}
		}
	}
}
