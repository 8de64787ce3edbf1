package record

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	maxNodes    = 100
	maxServices = 50
)

// counts are what an incident hit, and how often.
type counts struct {
	nodes           []string
	nodesLeftOut    leftOut
	services        []*effect
	servicesLeftOut leftOut
	// knownNodes is how many nodes the cluster has.
	knownNodes int
	// lostAgain counts the addresses that were lost, came back and were lost again.
	lost, bounces, lostAgain int
	outages, resets          int
	outageTime               time.Duration
	// turned is how often nodes turned not Ready or Unknown, turnedUnknown the latter.
	turned, turnedUnknown int
	// longest is the longest heartbeat interval that has ended.
	longest time.Duration
	byCause map[cause.Cause]int
	// heartbeatLost: a node lost its heartbeat, which explains what else happened to it.
	heartbeatLost bool
	consumers     consumers
}

// effect is what an incident did to a Service.
type effect struct {
	service                transition.Service
	lost, bounces, outages int
	outageTime             time.Duration
}

// AddNode adds a node to those that the incident hit.
func (c *counts) AddNode(name string) {
	switch {
	case slices.Contains(c.nodes, name):
	case len(c.nodes) == maxNodes:
		c.nodesLeftOut.add(hashOf(name))
	default:
		c.nodes = append(c.nodes, name)
	}
}

// KnowNodes notes how many nodes the cluster has.
func (c *counts) KnowNodes(n int) { c.knownNodes = max(c.knownNodes, n) }

// SeeInterval notes the interval between two heartbeats.
func (c *counts) SeeInterval(d time.Duration) { c.longest = max(c.longest, d) }

// LoseHeartbeat notes that a node lost its heartbeat.
func (c *counts) LoseHeartbeat() { c.heartbeatLost = true }

// Turn counts that a node turned not Ready.
func (c *counts) Turn() { c.turned++ }

// TurnUnknown counts that a node turned Unknown.
func (c *counts) TurnUnknown() {
	c.turned++
	c.turnedUnknown++
}

// Blame notes a cause, even if no address was lost for it.
func (c *counts) Blame(why cause.Cause) { c.byCause[why] += 0 }

// Lose counts a lost address.
func (c *counts) Lose(x transition.AddressLost) {
	c.lost++
	c.byCause[x.Cause]++
	c.effectOn(x.Service).lost++
	if x.Pod.Node != "" {
		c.AddNode(x.Pod.Node)
	}
}

// LoseAgain counts an address that was lost, came back and was lost again.
func (c *counts) LoseAgain() { c.lostAgain++ }

// Lost is how many addresses were lost.
func (c *counts) Lost() int { return c.lost }

// Bounce counts an address that came back.
func (c *counts) Bounce(x transition.Service) {
	c.bounces++
	c.effectOn(x).bounces++
}

// BounceConsumer counts an address that a consumer would have put back and taken out again.
func (c *counts) BounceConsumer(window time.Duration) { c.consumers.count(window) }

// nodeCount is how many nodes the incident hit.
func (c *counts) nodeCount() int { return len(c.nodes) + len(c.nodesLeftOut) }

// effectOn is what the incident did to a Service. Over the limit of Services only their sum is kept.
func (c *counts) effectOn(x transition.Service) *effect {
	for _, e := range c.services {
		if e.service == x {
			return e
		}
	}
	e := &effect{service: x}
	if len(c.services) == maxServices {
		c.servicesLeftOut.add(hashOfService(x))
	} else {
		c.services = append(c.services, e)
	}
	return e
}

// take adds the counts of an incident that turned out to be part of this one.
func (c *counts) take(from *counts) {
	c.lost, c.bounces = c.lost+from.lost, c.bounces+from.bounces
	c.outages, c.outageTime = c.outages+from.outages, c.outageTime+from.outageTime
	c.turned, c.turnedUnknown = c.turned+from.turned, c.turnedUnknown+from.turnedUnknown
	c.heartbeatLost = c.heartbeatLost || from.heartbeatLost
	c.SeeInterval(from.longest)
	c.consumers.take(from.consumers)
	for why, n := range from.byCause {
		c.byCause[why] += n
	}
	for _, e := range from.services {
		sum := c.effectOn(e.service)
		sum.lost, sum.bounces, sum.outages = sum.lost+e.lost, sum.bounces+e.bounces, sum.outages+e.outages
		sum.outageTime += e.outageTime
	}
	for _, name := range from.nodes {
		c.AddNode(name)
	}
	c.takeLeftOut(from)
}

// takeLeftOut adds what the other one leaves out and this one does not list.
func (c *counts) takeLeftOut(from *counts) {
	listed := map[uint64]bool{}
	for _, name := range c.nodes {
		listed[hashOf(name)] = true
	}
	c.nodesLeftOut.take(from.nodesLeftOut, listed)
	listed = map[uint64]bool{}
	for _, e := range c.services {
		listed[hashOfService(e.service)] = true
	}
	c.servicesLeftOut.take(from.servicesLeftOut, listed)
}

// maxLeftOut bounds a leftOut. Over that nothing more is counted.
const maxLeftOut = 10_000

// leftOut has the hashes of the names that a list leaves out, so that each counts once.
type leftOut map[uint64]struct{}

func hashOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum64()
}

func hashOfService(x transition.Service) uint64 { return hashOf(x.Namespace + "/" + x.Name) }

func (o *leftOut) add(hash uint64) {
	if *o == nil {
		*o = leftOut{}
	}
	if len(*o) < maxLeftOut {
		(*o)[hash] = struct{}{}
	}
}

func (o *leftOut) take(from leftOut, listed map[uint64]bool) {
	for hash := range from {
		if !listed[hash] {
			o.add(hash)
		}
	}
}
