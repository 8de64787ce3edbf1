package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident/leftout"
	"github.com/kubeflap/kubeflap/exporter/incident/windows"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	maxNodes    = 100
	maxServices = 50
	maxSilences = 200
)

// counts are what an incident hit, and how often.
type counts struct {
	// KnownNodes is how many nodes the cluster has.
	KnownNodes int
	// LostAgain counts the addresses that were lost, came back and were lost again.
	Lost, LostAgain int
	// Planned counts the lost addresses whose nodes were announced to leave, AnnouncedBy says by what.
	Planned     int
	AnnouncedBy string
	// Turned is how often nodes turned not Ready or Unknown, TurnedUnknown the latter.
	Turned, TurnedUnknown int
	// Found is how many nodes were lost before kubeflap watched, FoundUnknown how many of them were Unknown.
	Found, FoundUnknown int
	// Evicted is how many pods were evicted from nodes that were not Ready.
	Evicted int
	// NotMarked is how often the node controller left a silent node Ready.
	NotMarked int
	// Longest is the longest heartbeat interval that has ended.
	Longest time.Duration
	// HeartbeatLost: a node lost its heartbeat, which explains what else happened to it.
	HeartbeatLost bool
	// ByCause counts the lost addresses. A cause may have cost none.
	ByCause map[cause.Cause]int
	// ConsumerBounces are addresses that consumers put back and took out again, StaleReadds those whose container was being replaced.
	ConsumerBounces, StaleReadds windows.ByWindow

	Outages    int
	OutageTime time.Duration
	// Resets is how often manually managed addresses were removed.
	Resets int

	// Silences are those of its nodes, the newest ones if there are too many. judgement is what was decided about all of them.
	Silences  []*verdict.Silence
	judgement *verdict.Judgement

	nodes           []string
	nodesLeftOut    leftout.Names
	services        []*Effect
	servicesLeftOut leftout.Names
	bounces         int
}

// Effect describes the effect of an incident on a Service.
type Effect struct {
	Outages    int
	OutageTime time.Duration
	// Inexact: kubeflap did not see the start or the end of an outage when it happened.
	Inexact bool

	service       transition.Service
	lost, bounces int
}

// AddNode adds a node to the nodes that the incident hit.
func (c *counts) AddNode(name string) {
	switch {
	case slices.Contains(c.nodes, name):
	case len(c.nodes) == maxNodes:
		c.nodesLeftOut.Add(name)
	default:
		c.nodes = append(c.nodes, name)
	}
}

// AddSilence adds a silence of a node.
func (c *counts) AddSilence(x *verdict.Silence) {
	if slices.Contains(c.Silences, x) {
		return
	}
	x.Judgement = c.judgement
	if c.Silences = append(c.Silences, x); len(c.Silences) > maxSilences {
		c.Silences = slices.Delete(c.Silences, 0, 1)
	}
}

// DropSilence removes a silence that belongs to another incident, or that did not happen.
func (c *counts) DropSilence(x *verdict.Silence) {
	c.Silences = slices.DeleteFunc(c.Silences, func(s *verdict.Silence) bool { return s == x })
}

// Lose counts a lost address.
func (c *counts) Lose(x transition.AddressLost) {
	c.Lost++
	c.ByCause[x.Cause]++
	c.EffectOn(x.Service).lost++
	if x.Announced != "" {
		c.Planned, c.AnnouncedBy = c.Planned+1, x.Announced
	}
	if x.Pod.Node != "" {
		c.AddNode(x.Pod.Node)
	}
}

// Bounce counts an address that came back.
func (c *counts) Bounce(x transition.Service) {
	c.bounces++
	c.EffectOn(x).bounces++
}

// nodeCount is how many nodes the incident hit.
func (c *counts) nodeCount() int { return len(c.nodes) + len(c.nodesLeftOut) }

// EffectOn is the effect of the incident on a Service. Over the limit of Services, only their sum is kept.
func (c *counts) EffectOn(x transition.Service) *Effect {
	for _, e := range c.services {
		if e.service == x {
			return e
		}
	}
	e := &Effect{service: x}
	if len(c.services) == maxServices {
		c.servicesLeftOut.Add(x.Namespace + "/" + x.Name)
	} else {
		c.services = append(c.services, e)
	}
	return e
}

// take adds the counts of an incident that turned out to be part of this incident.
func (c *counts) take(from *counts) {
	c.Lost, c.bounces = c.Lost+from.Lost, c.bounces+from.bounces
	c.Outages, c.OutageTime = c.Outages+from.Outages, c.OutageTime+from.OutageTime
	c.Turned, c.TurnedUnknown = c.Turned+from.Turned, c.TurnedUnknown+from.TurnedUnknown
	c.NotMarked += from.NotMarked
	c.Found, c.FoundUnknown = c.Found+from.Found, c.FoundUnknown+from.FoundUnknown
	c.Evicted += from.Evicted
	c.HeartbeatLost = c.HeartbeatLost || from.HeartbeatLost
	c.Longest = max(c.Longest, from.Longest)
	c.ConsumerBounces.Take(from.ConsumerBounces)
	c.StaleReadds.Take(from.StaleReadds)
	for why, n := range from.ByCause {
		c.ByCause[why] += n
	}
	for _, e := range from.services {
		sum := c.EffectOn(e.service)
		sum.lost, sum.bounces = sum.lost+e.lost, sum.bounces+e.bounces
		sum.Outages, sum.OutageTime, sum.Inexact = sum.Outages+e.Outages, sum.OutageTime+e.OutageTime, sum.Inexact || e.Inexact
	}
	for _, name := range from.nodes {
		c.AddNode(name)
	}
	for _, x := range from.Silences {
		c.AddSilence(x)
	}
	from.judgement.Merge(c.judgement)
	c.takeLeftOut(from)
}

// takeLeftOut adds the entries that the other incident leaves out and this incident does not list.
func (c *counts) takeLeftOut(from *counts) {
	c.nodesLeftOut.Take(from.nodesLeftOut, c.nodes)
	services := make([]string, 0, len(c.services))
	for _, e := range c.services {
		services = append(services, e.service.Namespace+"/"+e.service.Name)
	}
	c.servicesLeftOut.Take(from.servicesLeftOut, services)
}
