package contract

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// cluster simulates the components of a cluster with a fake clock. It passes events to a tracker, as the watches of
// kubeflap would.
type cluster struct {
	now time.Time
	// bookmarked is the time of the last bookmark. The API server sends bookmarks about once a minute.
	bookmarked time.Time
	tracker    *track.Tracker
	collector  *metrics.Collector
	incidents  *correlate.Log
	random     *rand.Rand
	due        queue
	serial     int
	nodes      map[string]*node
	workloads  []*workload
}

type node struct {
	*event.Node
	silent bool
}

// workload is a Deployment and its Service.
type workload struct {
	*event.Service
	slice    *event.EndpointSlice
	pods     []*event.Pod
	ips      map[*event.Pod]string
	replicas int
	// recreate is set if a pod stops before its replacement starts, as with the strategy Recreate.
	recreate bool
	// daemon is set if this is a DaemonSet, with one pod on each node.
	daemon bool
	// startup is how long a pod takes to become Ready. If it is 0, a pod takes some seconds.
	startup time.Duration
}

type step struct {
	at     time.Time
	serial int
	do     func()
}

type queue []step

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at.Before(q[j].at) || q[i].at.Equal(q[j].at) && q[i].serial < q[j].serial
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(step)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func newCluster(start time.Time) *cluster {
	return &cluster{now: start, random: rand.New(rand.NewPCG(1, 2)), nodes: map[string]*node{}}
}

// origin is the time at which the clusters start.
var origin = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// populated returns a cluster with the given number of nodes and the workloads that the function deploy adds. A
// kubeflap has listed all objects.
func populated(nodes int, deploy func(*cluster)) *cluster {
	c := newCluster(origin)
	for range nodes {
		c.join()
	}
	c.runUntil(origin.Add(time.Minute))
	deploy(c)
	c.runUntil(origin.Add(2 * time.Minute))
	c.watch()
	return c
}

// listens creates a kubeflap that has not received any events.
func (c *cluster) listens() {
	c.tracker = track.New(track.Settings{BounceWindow: 2 * time.Minute})
	c.incidents = correlate.New(100)
	c.collector = metrics.NewCollector(c.tracker, c.incidents, func() time.Time {
		c.observe(c.tracker.Advance(c.now))
		return c.now
	})
}

// watch creates a kubeflap, and passes it a list of all objects.
func (c *cluster) watch() {
	c.listens()
	c.tell(event.Added, &event.Cluster{Version: "v1.36.3"})
	var objects []event.Object
	for _, n := range c.nodes {
		objects = append(objects, n.Node, &event.Lease{Meta: idOf("kube-node-lease", n.Name), RenewTime: c.now, DurationSeconds: 40})
	}
	for _, w := range c.workloads {
		objects = append(objects, w.Service, copyOf(w.slice))
		for _, p := range w.pods {
			objects = append(objects, clone(p))
		}
	}
	for _, k := range event.Kinds() {
		c.apply(event.Event{Seen: c.now, Kind: k, Type: event.Listing})
		for _, o := range objects {
			if o.Kind() == k {
				c.tell(event.Listed, o)
			}
		}
		c.apply(event.Event{Seen: c.now, Kind: k, Type: event.Synced})
	}
}

func (c *cluster) apply(e event.Event) { c.observe(c.tracker.Apply(e)) }

func (c *cluster) observe(found []transition.Transition) {
	for _, x := range found {
		c.collector.Observe(x)
	}
	c.incidents.Observe(found...)
}

func (c *cluster) tell(t event.Type, o event.Object) {
	if c.tracker != nil {
		c.apply(event.Event{Seen: c.now, Kind: o.Kind(), Type: t, Object: o})
	}
}

func (c *cluster) in(d time.Duration, do func()) {
	c.serial++
	heap.Push(&c.due, step{c.now.Add(d), c.serial, do})
}

// runUntil runs all steps that are due before t. Then it sets the clock to t.
func (c *cluster) runUntil(t time.Time) {
	for len(c.due) > 0 && c.due[0].at.Before(t) {
		x := heap.Pop(&c.due).(step)
		c.now = x.at
		x.do()
	}
	c.now = t
	if c.tracker == nil || t.Sub(c.bookmarked) < time.Minute {
		return
	}
	c.bookmarked = t
	for _, k := range event.Kinds() {
		c.apply(event.Event{Seen: t, Kind: k, Type: event.Bookmark})
	}
}

func (c *cluster) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.random.Int64N(int64(most-least)))
}

func (c *cluster) name(of string) string {
	c.serial++
	return fmt.Sprintf("%s-%d", of, c.serial)
}

func idOf(namespace, name string) event.Meta {
	return event.Meta{UID: event.ParseUID(namespace + "/" + name), Namespace: namespace, Name: name}
}

// join adds a node. It becomes Ready after some seconds. The kubelet renews its Lease every 10 s, and up to 4 % later.
func (c *cluster) join() *node {
	name := c.name("node")
	n := &node{Node: &event.Node{Meta: idOf("", name), KubeletVersion: "v1.36.3", BootID: "boot", Ready: &event.Condition{Status: event.StatusFalse, LastTransitionTime: c.now}}}
	c.nodes[name] = n
	o := *n.Node
	c.tell(event.Added, &o)
	c.tell(event.Added, &event.Lease{Meta: idOf("kube-node-lease", name), RenewTime: c.now, DurationSeconds: 40})
	c.in(c.between(5*time.Second, 40*time.Second), func() {
		c.turnReady(n, event.StatusTrue, "KubeletReady")
	})
	c.in(c.between(0, 10*time.Second), func() { c.beat(n) })
	return n
}

func (c *cluster) beat(n *node) {
	if c.nodes[n.Name] != n {
		return
	}
	if !n.silent {
		c.tell(event.Modified, &event.Lease{Meta: idOf("kube-node-lease", n.Name), RenewTime: c.now, DurationSeconds: 40})
	}
	c.in(10*time.Second+c.between(0, 400*time.Millisecond), func() { c.beat(n) })
}

// anyNode returns a random Ready and schedulable node. It never returns the node with the given name.
func (c *cluster) anyNode(but string) *node {
	var names []string
	for name, n := range c.nodes {
		if n.Ready.Status == event.StatusTrue && name != but && !n.Unschedulable && len(n.Taints) == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return c.nodes[names[c.random.IntN(len(names))]]
}
