package clustertest

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Watcher has the watches of a kubeflap, which deliver events to the sink.
type Watcher struct {
	Sink func(event.Event)
	// Watching is set while kubeflap runs.
	Watching bool
	// hung is set if the connections to the API server are dead.
	hung    bool
	cluster *Cluster
	watches [event.NumKinds]watch
	// noReads is the reason why kubeflap cannot read Leases directly, or empty.
	noReads event.Reason
}

// watch is the watch of a resource.
type watch struct {
	down, frozen bool
	// late is set if a list of the resource takes long.
	late bool
	held []event.Event
	// lacking is the reason why the resource cannot be watched, or empty.
	lacking event.Reason
}

// Watch adds a watcher, which has not started.
func (c *Cluster) Watch() *Watcher {
	w := &Watcher{cluster: c}
	c.Watchers = append(c.Watchers, w)
	return w
}

// Start starts kubeflap, which lists all resources.
func (w *Watcher) Start() {
	w.Sink(event.Event{Seen: w.cluster.Now, Kind: event.KindCluster, Type: event.Listed, Object: &event.Cluster{Version: w.cluster.Version}})
	for _, k := range allKinds() {
		if !w.watches[k].late {
			w.List(k)
		}
	}
	w.Watching = true
}

func allKinds() []event.Kind { return slices.Concat(event.Kinds(), event.OptionalKinds()) }

func (w *Watcher) receive(e event.Event) {
	switch x := &w.watches[e.Kind]; {
	case !w.Watching || w.hung || x.lacking != "" || x.down:
	case x.frozen:
		x.held = append(x.held, e)
	default:
		w.Sink(e)
	}
}

func (w *Watcher) note(k event.Kind, typ event.Type, why event.Reason) {
	w.Sink(event.Event{Seen: w.cluster.Now, Kind: k, Type: typ, Reason: why})
}

// breaks makes the watch of a resource fail at the start of a period, and list again at its end.
func (w *Watcher) breaks(k event.Kind, from, to float64, why event.Reason) {
	w.cluster.At(from, func() { w.watches[k].down = true; w.note(k, event.Down, why) })
	w.cluster.At(to, func() { w.watches[k].down = false; w.List(k) })
}

// freezes makes a watch deliver nothing for a period, although its connection stays open. Afterwards, it delivers
// all events at once.
func (w *Watcher) freezes(k event.Kind, from, to float64) {
	w.cluster.At(from, func() { w.watches[k].frozen = true })
	w.cluster.At(to, func() { w.thaw(k) })
}

func (w *Watcher) thaw(k event.Kind) {
	x := &w.watches[k]
	held := x.held
	x.frozen, x.held = false, nil
	for _, e := range held {
		e.Seen = w.cluster.Now
		w.Sink(e)
	}
}

// lists makes the first list of a resource take until the end of a period.
func (w *Watcher) lists(k event.Kind, from, to float64) {
	w.cluster.At(from, func() { w.watches[k].down, w.watches[k].late = true, true })
	w.cluster.At(to, func() { w.watches[k].down, w.watches[k].late = false, false; w.List(k) })
}

// hangs makes all connections deliver nothing. After 90 s, kubeflap closes the watches, and cannot list again.
func (w *Watcher) hangs() {
	w.hung = true
	w.cluster.After(90*time.Second, func() {
		for _, k := range allKinds() {
			w.note(k, event.Down, event.ReasonSilent)
		}
	})
}

// Bookmark sends a bookmark to each watch, once a minute like the API server.
func (w *Watcher) Bookmark() {
	for _, k := range allKinds() {
		w.receive(event.Event{Seen: w.cluster.Now, Kind: k, Type: event.Bookmark})
	}
	w.cluster.After(time.Minute, w.Bookmark)
}

// Lack makes a resource absent or forbidden.
func (w *Watcher) Lack(k event.Kind, why event.Reason) { w.watches[k].lacking = why }

// List sends a list of a resource to kubeflap.
func (w *Watcher) List(k event.Kind) {
	if why := w.watches[k].lacking; why != "" {
		w.note(k, event.Unavailable, why)
		return
	}
	w.note(k, event.Listing, "")
	for _, o := range w.cluster.Objects() {
		if o.Kind() == k {
			w.Sink(event.Event{Seen: w.cluster.Now, Kind: k, Type: event.Listed, Object: Copy(o)})
		}
	}
	w.note(k, event.Synced, "")
}

// ReadLeases reads Leases directly. It returns etcd's state, or fails while etcd is stalled or cut off.
func (w *Watcher) ReadLeases(names []string) {
	c := w.cluster
	answers := func(d time.Duration, why event.Reason) {
		c.After(d, func() { w.note(event.KindLease, event.DirectReadAnswered, why) })
	}
	w.note(event.KindLease, event.DirectReadStarted, "")
	if w.hung {
		c.After(900*time.Millisecond, func() { w.note(event.KindLease, event.DirectReadUnanswered, event.ReasonTimeout) })
		return
	}
	if w.noReads != "" {
		answers(50*time.Millisecond, w.noReads)
		return
	}
	if c.stalled() > 0 || hasAny(c.cut, c.Second()) {
		answers(3*time.Second, event.NotReady("etcd"))
		return
	}
	c.After(50*time.Millisecond, func() {
		for _, n := range c.Nodes {
			for _, name := range names {
				if n.Name == name && !n.Gone {
					w.Sink(event.Event{Seen: c.Now, Kind: event.KindLease, Type: event.DirectReadLease, Object: Copy(&n.lease)})
				}
			}
		}
		w.note(event.KindLease, event.DirectReadAnswered, "")
	})
}

// Reopen closes a lagging Lease watch, and lists the Leases again.
func (w *Watcher) Reopen() {
	if x := &w.watches[event.KindLease]; x.frozen {
		w.note(event.KindLease, event.Down, event.ReasonSilent)
		x.frozen, x.held = false, nil
		w.List(event.KindLease)
	}
}
