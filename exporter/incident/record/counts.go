package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/leftout"
	"github.com/kubeflap/kubeflap/exporter/incident/windows"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const maxSilences = 200

// counts holds the counters of an incident. It also lists the affected nodes and Services.
type counts struct {
	// KnownNodes is the number of nodes in the cluster.
	KnownNodes int
	// Lost counts how often an address was lost. LostAgain counts the addresses that were lost more than once.
	Lost, LostAgain int
	// Planned counts the lost addresses on nodes whose departure had been announced. AnnouncedBy describes the
	// announcement.
	Planned     int
	AnnouncedBy string
	// Vanished counts the addresses that were lost for an unknown reason while kubeflap was not watching.
	Vanished int
	// WithNode counts the lost addresses on Nodes that had been deleted without notice. The field deleted holds the
	// names of these Nodes.
	WithNode int
	deleted  []string
	// Turned counts how often a node's Ready condition became False or Unknown. TurnedUnknown counts how often it
	// became Unknown.
	Turned, TurnedUnknown int
	// Found counts the nodes that were already lost when kubeflap started watching. FoundUnknown is the number of those
	// nodes that were Unknown.
	Found, FoundUnknown int
	// Evicted counts the pods that were evicted from nodes that were not Ready.
	Evicted int
	// NotMarked counts how often the node controller left a silent node Ready.
	NotMarked int
	// Longest is the longest heartbeat interval that has ended. If the Lease watch broke during an interval, only the
	// part before the break counts.
	Longest time.Duration
	// HeartbeatLost is set if a node stopped sending heartbeats. This explains all other failures of the node.
	HeartbeatLost bool
	// ByCause counts the lost addresses for each cause. The count is 0 if the cause made pods unready without the loss
	// of an address.
	ByCause map[cause.Cause]int
	// ConsumerBounces counts the addresses that simulated clients put back and then removed again. StaleReadds counts
	// the addresses that these clients put back while the pod's container was being replaced.
	ConsumerBounces, StaleReadds windows.ByWindow

	Outages    int
	OutageTime time.Duration
	// Resets counts how often manually managed addresses were removed.
	Resets int

	// Silences holds the newest silences of the incident's nodes, at most maxSilences. The field judgement is the
	// verdict that they all share.
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
	// Inexact is set if kubeflap did not see when an outage began or ended.
	Inexact bool

	service       transition.Service
	lost, bounces int
}

// AddNode adds a node to the affected nodes.
func (c *counts) AddNode(name string) {
	switch {
	case slices.Contains(c.nodes, name):
	case len(c.nodes) == incident.MaxNodes:
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

// DropSilence removes a silence that belongs to another incident or did not happen after all.
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
	if x.Vanished {
		c.Vanished++
	}
	if x.Pod.Node != "" {
		c.AddNode(x.Pod.Node)
	}
}

// LoseWithNode counts a lost address whose Node had been deleted without notice.
func (c *counts) LoseWithNode(name string) {
	c.WithNode++
	if !slices.Contains(c.deleted, name) && len(c.deleted) < incident.MaxNodes {
		c.deleted = append(c.deleted, name)
	}
}

// Bounce counts an address that became ready again.
func (c *counts) Bounce(x transition.Service) {
	c.bounces++
	c.EffectOn(x).bounces++
}

// nodeCount returns the number of affected nodes.
func (c *counts) nodeCount() int { return len(c.nodes) + len(c.nodesLeftOut) }

// EffectOn returns the incident's effect on a Service. If the list of Services is full, the effect on a new Service is
// returned but not stored.
func (c *counts) EffectOn(x transition.Service) *Effect {
	for _, e := range c.services {
		if e.service == x {
			return e
		}
	}
	e := &Effect{service: x}
	if len(c.services) == incident.MaxServices {
		c.servicesLeftOut.Add(x.Namespace + "/" + x.Name)
	} else {
		c.services = append(c.services, e)
	}
	return e
}

// take adds the counts of an incident that is merged into this one.
func (c *counts) take(from *counts) {
	c.Lost, c.bounces = c.Lost+from.Lost, c.bounces+from.bounces
	c.Outages, c.OutageTime = c.Outages+from.Outages, c.OutageTime+from.OutageTime
	c.Turned, c.TurnedUnknown = c.Turned+from.Turned, c.TurnedUnknown+from.TurnedUnknown
	c.NotMarked += from.NotMarked
	c.WithNode += from.WithNode
	c.deleted = append(c.deleted, from.deleted...)
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

// takeLeftOut adds the names that another incident omitted from its lists. It skips the names that this incident lists.
func (c *counts) takeLeftOut(from *counts) {
	c.nodesLeftOut.Take(from.nodesLeftOut, c.nodes)
	services := make([]string, 0, len(c.services))
	for _, e := range c.services {
		services = append(services, e.service.Namespace+"/"+e.service.Name)
	}
	c.servicesLeftOut.Take(from.servicesLeftOut, services)
}
