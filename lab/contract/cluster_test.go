package contract

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// cluster simulates the components of a cluster with a fake clock. It passes events to the replicas of kubeflap, as
// their watches would.
type cluster struct {
	now, zero time.Time
	replicas  []*replica
	// others are clusters that the same Prometheus observes.
	others  []*cluster
	objects map[objectKey]event.Object
	random  *rand.Rand
	due     []step
	serial  int
	// busy holds the times at which something happens.
	busy []time.Time

	version string
	// grace is the grace period of the node controller.
	grace time.Duration
	// stalled is set while etcd accepts no writes.
	stalled   bool
	nodes     map[string]*node
	workloads []*workload
}

type objectKey struct {
	kind event.Kind
	id   string
}

func (k objectKey) compare(other objectKey) int {
	return cmp.Or(cmp.Compare(k.kind, other.kind), strings.Compare(k.id, other.id))
}

type step struct {
	at     time.Time
	serial int
	do     func()
}

func (s step) compare(other step) int {
	return cmp.Or(s.at.Compare(other.at), cmp.Compare(s.serial, other.serial))
}

// origin is the time at which the clusters start.
var origin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func newCluster(start time.Time) *cluster {
	return &cluster{
		now: start, zero: start, random: rand.New(rand.NewPCG(1, 2)), objects: map[objectKey]event.Object{}, nodes: map[string]*node{},
		version: "v1.36.3", grace: 50 * time.Second,
	}
}

// lead is how long the clusters run before the first thing happens.
const lead = time.Hour

// populated returns a cluster with the given number of nodes and the workloads that the function deploy adds. A
// kubeflap has listed all objects. The first thing may happen an hour later.
func populated(nodes int, deploy func(*cluster)) *cluster {
	c := newCluster(origin)
	for range nodes {
		c.join()
	}
	c.runUntil(origin.Add(time.Minute))
	deploy(c)
	c.runUntil(origin.Add(2 * time.Minute))
	c.zero = c.now.Add(lead)
	c.watch("a")
	return c
}

// at schedules what happens. Around that time, Prometheus scrapes at its interval. At other times, most scrapes and
// evaluations are skipped.
func (c *cluster) at(d time.Duration, do func()) {
	at := c.zero.Add(d)
	c.busy = append(c.busy, at)
	c.in(at.Sub(c.now), do)
}

func (c *cluster) isBusy(t time.Time) bool {
	return slices.ContainsFunc(c.busy, func(b time.Time) bool {
		d := t.Sub(b)
		return d > -2*time.Minute && d < 16*time.Minute
	})
}

func (c *cluster) in(d time.Duration, do func()) {
	c.serial++
	x := step{c.now.Add(d), c.serial, do}
	i, _ := slices.BinarySearchFunc(c.due, x, step.compare)
	c.due = slices.Insert(c.due, i, x)
}

// runUntil runs all steps that are due before t. Then it sets the clock to t.
func (c *cluster) runUntil(t time.Time) {
	for len(c.due) > 0 && c.due[0].at.Before(t) {
		x := c.due[0]
		c.due = c.due[1:]
		c.now = x.at
		x.do()
	}
	c.now = t
	for _, other := range c.others {
		other.runUntil(t)
	}
}

// send passes an event to all replicas.
func (c *cluster) send(e event.Event) {
	if e.Object != nil {
		m := e.Object.Metadata()
		key := objectKey{e.Kind, m.Namespace + "/" + m.Name + "/" + m.UID.String()}
		if e.Type == event.Deleted {
			delete(c.objects, key)
		} else {
			c.objects[key] = e.Object
		}
	}
	for _, r := range c.replicas {
		r.receive(e)
	}
}

func (c *cluster) tell(t event.Type, o event.Object) {
	c.send(event.Event{Seen: c.now, Kind: o.Kind(), Type: t, Object: o})
}

// listed returns all objects of a resource.
func (c *cluster) listed(k event.Kind) (all []event.Object) {
	for _, key := range slices.SortedFunc(maps.Keys(c.objects), objectKey.compare) {
		if key.kind == k {
			all = append(all, c.objects[key])
		}
	}
	return all
}

func (c *cluster) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.random.Int64N(int64(most-least)))
}

func (c *cluster) named(of string) string {
	c.serial++
	return fmt.Sprintf("%s-%d", of, c.serial)
}

func idOf(namespace, name string) event.Meta {
	return event.Meta{UID: event.ParseUID(namespace + "/" + name), Namespace: namespace, Name: name}
}
