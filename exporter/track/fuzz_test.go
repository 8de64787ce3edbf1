package track

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/services"
)

// FuzzApply passes arbitrary events to the tracker, in arbitrary order.
func FuzzApply(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a node and its Lease, a Service, its slice and its Endpoints, a pod"))
	for _, seed := range []byte{3, 7, 11, 19, 23} {
		mixed := make([]byte, 400)
		for i := range mixed {
			mixed[i] = byte(i*i)*seed + byte(i)
		}
		f.Add(mixed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &dice{data: data, now: zero}
		fold := New(Settings{
			GracePeriod:   time.Duration(d.roll(3)) * 20 * time.Second,
			AddressSource: []event.Kind{0, event.KindEndpointSlice, event.KindEndpoints}[d.roll(3)],
		})
		fold.Advance(zero)
		if !d.chance() { // otherwise, kubeflap sees no silences
			listed(fold, event.KindNode)
			listed(fold, event.KindLease)
		}
		w := &warden{t: t, fold: fold, seen: map[string]reading{}}
		for n := 0; n < 200 && len(d.data) > 0; n++ {
			fold.Apply(d.event())
			// Query a little later, so that a recreated object has a later creation time, and again without an event in
			// between.
			w.look(d.now.Add(time.Millisecond))
			for later := 10 * time.Millisecond; later < 2*time.Second && d.chance(); later *= 10 {
				w.look(d.now.Add(later))
			}
		}
	})
}

// dice derives choices from bytes.
type dice struct {
	data []byte
	now  time.Time
}

func (d *dice) roll(sides int) int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b) % sides
}

func (d *dice) chance() bool { return d.roll(2) == 1 }

// event returns an arbitrary event. The object can be missing or of another kind.
func (d *dice) event() event.Event {
	d.now = d.now.Add(time.Duration(d.roll(256)) * 200 * time.Millisecond)
	e := event.Event{
		Seen: d.now.Add(-time.Duration(d.roll(4)) * time.Second), Kind: event.Kind(d.roll(event.NumKinds)), Type: event.Type(d.roll(int(event.DirectReadUnanswered) + 2)),
		Reason: []event.Reason{"", "timeout", "silent", "ended"}[d.roll(4)],
	}
	if d.roll(50) == 49 {
		e.Seen = time.Time{}
	}
	if !e.Type.HasObject() {
		return e
	}
	if o := event.New(e.Kind); d.roll(16) > 0 && o != nil {
		e.Object = o
	} else {
		e.Object = event.New(event.Kind(d.roll(event.NumKinds)))
	}
	if e.Object != nil {
		d.fill(e.Object)
	}
	return e
}

func (d *dice) fill(o event.Object) {
	*o.Metadata() = event.Meta{UID: d.uid(), Namespace: d.name(), Name: d.name()}
	switch o := o.(type) {
	case *event.Node:
		o.Ready = d.condition()
	case *event.Lease:
		o.RenewTime = d.time()
	case *event.Pod:
		d.fillPod(o)
	case *event.Service:
		if d.chance() {
			o.Selector = map[string]string{"app": "a"}
		}
	case *event.EndpointSlice:
		o.Service, o.Owner = d.name(), d.uid()
		o.ManagedBy = []string{"", "endpointslicemirroring-controller.k8s.io"}[d.roll(2)]
		o.Addresses = d.addresses()
	case *event.Endpoints:
		o.Truncated = d.roll(8) == 0
		o.Addresses = d.addresses()
	case *event.Cluster:
		o.Version = []string{"", "v1.36.3", "v1.31.0", "v1", "weird.."}[d.roll(5)]
	}
}

func (d *dice) fillPod(o *event.Pod) {
	o.Ready = d.condition()
	o.Phase = []string{"", "Pending", "Running", "Failed"}[d.roll(4)]
	for range d.roll(3) {
		o.Containers = append(o.Containers, event.Container{Name: d.name(), Image: d.name(), Restarts: int32(d.roll(4) - 1)})
	}
	if d.roll(8) == 0 {
		o.ControllerManager = &event.ControllerManager{GracePeriod: time.Duration(d.roll(40)-1) * time.Second}
	}
}

func (d *dice) name() string { return []string{"", "a", "b"}[d.roll(3)] }

func (d *dice) uid() event.UID {
	if n := d.roll(5); n > 0 {
		return id(fmt.Sprint("uid ", n))
	}
	return event.UID{}
}

func (d *dice) time() time.Time {
	// The API server accepts any date.
	switch d.roll(10) {
	case 0:
		return time.Time{}
	case 1:
		return time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
	case 2:
		return time.Date(1, 1, 1, 0, 0, d.roll(256), 1, time.UTC)
	}
	return d.now.Add(time.Duration(d.roll(256)-128) * time.Second)
}

func (d *dice) condition() *event.Condition {
	if d.roll(6) == 0 {
		return nil
	}
	return &event.Condition{
		Status: event.Status(d.roll(3)), Reason: []string{"", "NodeStatusUnknown", "NodeStatusNeverUpdated"}[d.roll(3)],
		LastHeartbeatTime: d.time(), LastTransitionTime: d.time(),
	}
}

func (d *dice) addresses() []event.Address {
	var some []event.Address
	for range d.roll(5) {
		some = append(some, event.Address{
			UID: d.uid(), IP: []string{"", "10.0.0.1", "fd00::1", "host.example"}[d.roll(4)],
			ByHand: d.chance(), Ready: d.chance(), Terminating: d.chance(),
		})
	}
	return some
}

// warden checks the tracker's answers.
type warden struct {
	t    *testing.T
	fold *Tracker
	// seen is the last reading of each object, by name.
	seen map[string]reading
}

// reading holds an object's counters, which must never decrease.
type reading struct {
	created  time.Time
	counters []float64
}

func (w *warden) look(now time.Time) {
	for _, n := range w.fold.Nodes(now, nil) {
		w.grows("node "+n.Name, n.Created, flat(n.LateHeartbeats, n.MissedHeartbeats,
			n.Turned, n.Unplanned.Count, n.Unplanned.Time, n.Planned.Count, n.Planned.Time))
		w.positive("node "+n.Name, n.LongestInterval)
		if n.HeartbeatKnown {
			w.positive("age of node "+n.Name, n.HeartbeatAge)
		}
	}
	for _, s := range w.fold.Services(now, nil) {
		w.grows("Service "+s.Namespace+"/"+s.Name, s.Created, flat(s.TurnedReady, s.TurnedNotReady, s.StaleReadds, s.Outages, s.OutageTime, s.ResetsWithSelector, s.ResetsSelectorless, s.Lost, s.Losses))
		w.sums(s)
	}
	w.forgetGone(now)
	for _, n := range w.fold.Namespaces(now, nil) {
		w.grows("namespace "+n.Name, zero, flat(n.InPlaceUpdates, n.UngatedUpdates, n.SilentRestarts, n.Unready, n.Transitions[0], n.Transitions[1], n.Transitions[2]))
	}
	for _, v := range w.fold.Watches(now, nil) {
		w.grows("watch "+v.Resource.String(), zero, flat(v.Relists, v.Errors, v.Blind, v.Events[event.Added], v.Events[event.Modified]))
	}
	w.graceTable(now)
	w.fold.LeasesToRead(now)
	w.fold.LeasesBehind(now)
	w.fold.GracePeriod()
	w.fold.Synced()
	w.fold.AddressSource()
}

// forgetGone drops namespaces that are no longer reported, because their counts restart.
func (w *warden) forgetGone(now time.Time) {
	there := map[string]bool{}
	for _, n := range w.fold.Namespaces(now, nil) {
		there["namespace "+n.Name] = true
	}
	maps.DeleteFunc(w.seen, func(what string, _ reading) bool {
		return strings.HasPrefix(what, "namespace ") && !there[what]
	})
}

// flat returns the numbers in counters and in arrays of counters.
func flat(values ...any) (all []float64) {
	for _, x := range values {
		switch v := reflect.ValueOf(x); {
		case v.Kind() == reflect.Array:
			for i := range v.Len() {
				all = append(all, flat(v.Index(i).Interface())...)
			}
		case v.CanInt(): // a duration
			all = append(all, time.Duration(v.Int()).Seconds())
		default:
			all = append(all, float64(v.Uint()))
		}
	}
	return all
}

func (w *warden) grows(what string, created time.Time, counters []float64) {
	w.t.Helper()
	before, known := w.seen[what]
	w.seen[what] = reading{created, counters}
	for i := range counters {
		if counters[i] < 0 || counters[i] > 1e9 {
			w.t.Fatalf("counter %d of %s is %v", i, what, counters[i])
		}
		if known && before.created.Equal(created) && counters[i] < before.counters[i] {
			w.t.Fatalf("counter %d of %s fell from %v to %v", i, what, before.counters[i], counters[i])
		}
	}
}

// graceTable checks that a longer grace period never makes more nodes Unknown.
func (w *warden) graceTable(now time.Time) {
	most := controlplane.Row{Silences: controlplane.Range{AtLeast: 1e6, AtMost: 1e6}, Addresses: controlplane.Range{AtLeast: 1e6, AtMost: 1e6}}
	for _, row := range w.fold.GraceTable(now).Rows {
		for _, x := range [][2]controlplane.Range{{row.Silences, most.Silences}, {row.Addresses, most.Addresses}} {
			if is, before := x[0], x[1]; is.AtLeast < 0 || is.AtLeast > is.AtMost || is.AtLeast > before.AtLeast || is.AtMost > before.AtMost {
				w.t.Fatalf("with a grace period of %g s: %s after %s", row.GracePeriod, is, before)
			}
		}
		most = row
	}
}

func (w *warden) positive(what string, d time.Duration) {
	w.t.Helper()
	if d < 0 {
		w.t.Fatalf("%s: %s is less than nothing", what, d)
	}
}

// sums compares the numbers by state with the Service's number of addresses.
func (w *warden) sums(v services.Service) {
	w.t.Helper()
	if v.Ready < 0 || v.NotReady < 0 || v.Terminating < 0 {
		w.t.Fatalf("Service %s/%s has fewer addresses than none: %+v", v.Namespace, v.Name, v)
	}
}
