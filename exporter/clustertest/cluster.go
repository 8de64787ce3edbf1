// Package clustertest simulates a Kubernetes cluster at virtual times, for tests. Its kubelets, controllers and users
// change objects, and each change reaches watchers, as it would reach the watches of a kubeflap. Stories tell what happens.
package clustertest

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

// Cluster is a cluster in virtual time, with kubelets, controllers and user actions. Its components modify API
// objects. Every write reaches the watchers, unless their watches are broken. Times are in seconds since Begin.
type Cluster struct {
	Now time.Time
	// Deleted counts the deletions of nodes.
	Deleted int
	// Others are objects that no component modifies.
	Others   []event.Object
	Watchers []*Watcher
	Nodes    []*Node
	Services []*Service
	// Version is the version of Kubernetes.
	Version string

	random *rand.Rand
	due    []step
	serial int
	// grace is the controller manager's grace period.
	grace time.Duration
	// leases is set if kubelets renew Leases. Otherwise they report their status at the same interval.
	leases   bool
	interval time.Duration
	manager  manager
	stalls   []span
	// cut holds the periods in which only the API server of the watchers, which is the last one, cannot reach etcd.
	cut []span
	// last is the node that the scheduler chose last for a Deployment.
	last int
	// from is the time at which the first watcher starts.
	from float64
}

// span is a period, in seconds.
type span struct{ from, to float64 }

func (x span) has(t float64) bool { return t >= x.from && t < x.to }

func hasAny(all []span, t float64) bool {
	return slices.ContainsFunc(all, func(x span) bool { return x.has(t) })
}

// Begin is when clusters begin.
var Begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const forever = math.MaxInt32

// Seconds returns a duration.
func Seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// New returns a cluster without nodes, and with one watcher.
func New(seed1, seed2 uint64) *Cluster {
	c := &Cluster{Now: Begin, last: -1, random: rand.New(rand.NewPCG(seed1, seed2)), Version: "v1.31.4", grace: 40 * time.Second, leases: true, interval: 10 * time.Second}
	c.Watch()
	return c
}

type step struct {
	at     time.Time
	serial int
	do     func()
}

func (a step) compare(b step) int {
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.serial, b.serial))
}

// At schedules an action at the given second. What happens at 0 is how the cluster begins.
func (c *Cluster) At(second float64, do func()) {
	if second == 0 {
		do()
		return
	}
	c.serial++
	x := step{Begin.Add(Seconds(second)), c.serial, do}
	i, _ := slices.BinarySearchFunc(c.due, x, step.compare)
	c.due = slices.Insert(c.due, i, x)
}

// After schedules an action after a delay.
func (c *Cluster) After(d time.Duration, do func()) { c.At(c.Second()+d.Seconds(), do) }

// Second returns the time in seconds since Begin.
func (c *Cluster) Second() float64 { return c.Now.Sub(Begin).Seconds() }

// Between returns a random duration between two limits in seconds.
func (c *Cluster) Between(least, most float64) time.Duration {
	return Seconds(least + c.random.Float64()*(most-least))
}

// stalled returns the time at which a stalled etcd accepts writes again, or 0 if etcd is not stalled.
func (c *Cluster) stalled() float64 {
	for _, x := range c.stalls {
		if x.has(c.Second()) {
			return x.to
		}
	}
	return 0
}

// Tell sends a copy of an object to the watches of its resource. Nothing modifies the copy.
func (c *Cluster) Tell(typ event.Type, o event.Object) {
	c.serial++
	o.Metadata().ResourceVersion = strconv.Itoa(c.serial)
	e := event.Event{Seen: c.Now, Kind: o.Kind(), Type: typ, Object: Copy(o)}
	for _, w := range c.Watchers {
		w.receive(e)
	}
}

// Objects returns all current API objects.
func (c *Cluster) Objects() (all []event.Object) {
	for _, n := range c.Nodes {
		if !n.Gone {
			all = append(all, &n.Node)
			if c.leases {
				all = append(all, &n.lease)
			}
		}
	}
	for _, v := range c.Services {
		all = append(all, &v.Service)
		if v.owner != nil {
			all = append(all, v.owner)
		}
		all = append(all, v.objects()...)
		for _, p := range v.Pods {
			all = append(all, &p.Pod)
		}
	}
	for i := range c.manager.leases {
		all = append(all, &c.manager.leases[i])
	}
	return append(all, c.Others...)
}

// Copy returns a copy of an object that shares no modifiable data with the original.
func Copy(o event.Object) event.Object {
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

// Meta returns the metadata of an object.
func Meta(kind, namespace, name string) event.Meta {
	return event.Meta{UID: event.ParseUID(kind + "/" + namespace + "/" + name), Namespace: namespace, Name: name}
}

// Start starts the components, and schedules the start of the first watcher.
func (c *Cluster) Start() {
	for _, n := range c.Nodes {
		n.join()
	}
	c.After(Seconds(2.3), c.monitor)
	c.manager.run(c)
	if c.from == 0 {
		c.Watchers[0].Start()
		return
	}
	c.At(c.from, c.Watchers[0].Start)
}

// RunUntil executes all actions up to a time.
func (c *Cluster) RunUntil(second float64) {
	for t := Begin.Add(Seconds(second)); len(c.due) > 0 && !c.due[0].at.After(t); {
		x := c.due[0]
		c.due = c.due[1:]
		c.Now = x.at
		x.do()
	}
	c.Now = Begin.Add(Seconds(second))
}

func nodeNamed(i int) string { return fmt.Sprintf("node-%d", i) }
