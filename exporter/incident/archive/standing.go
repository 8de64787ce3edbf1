package archive

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// Cluster is the current state of the objects of incidents. An object that does not exist is in no map.
type Cluster struct {
	// NotReady holds the nodes whose Ready condition is not True.
	NotReady map[string]bool
	// Services holds the Services that lack ready addresses.
	Services map[ServiceName]Lacking
}

// ServiceName identifies a Service.
type ServiceName struct{ Namespace, Name string }

// Lacking describes which ready addresses a Service lacks: all, or only some.
type Lacking struct{ All, Some bool }

// standing is an object that had not recovered when kubeflap stopped. This process may report no incident of it: the
// tracker does not know that the object was once ready.
type standing struct {
	// node is the name of a node, or empty for a Service.
	node    string
	service ServiceName
	// down reports whether the Service had no ready address.
	down bool
	// seen reports whether this process has seen the object before it recovered. recovered is the time of its recovery if
	// seen is set.
	seen      bool
	recovered time.Time
	// over reports whether the object has recovered.
	over bool
}

// lasts reports whether the object has not recovered.
func (s *standing) lasts(c *Cluster) bool {
	lacking := c.Services[s.service]
	switch {
	case s.node != "":
		return c.NotReady[s.node]
	case s.down:
		return lacking.All
	}
	return lacking.All || lacking.Some
}

// runOutages adds a duration to all ongoing outages.
func (p *past) runOutages(d time.Duration) {
	if d <= 0 {
		return
	}
	p.Services = slices.Clone(p.Services)
	for i := range p.Services {
		if s := &p.Services[i]; s.Down {
			s.OutageTime += d
			p.OutageTime += d
		}
	}
}

// hold collects the objects that have not recovered. If nodes were lost, their pods' addresses return after them, so only
// the nodes and the outages count.
func (p *past) hold() {
	if p.State != incident.StateRunning {
		return
	}
	if ofNodes(p.Scope) {
		for _, name := range p.Nodes {
			p.standing = append(p.standing, &standing{node: name})
		}
	}
	for _, s := range p.Services {
		if s.Down || !ofNodes(p.Scope) && s.Lost > s.Bounces {
			p.standing = append(p.standing, &standing{service: ServiceName{s.Namespace, s.Name}, down: s.Down})
		}
	}
}

// Stands reports whether an object from before the restart may not have recovered yet. Look is then to be called.
func (a *Archive) Stands() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.watching.IsZero() && slices.ContainsFunc(a.past, (*past).stands)
}

// Look compares the incidents from before the restart with the state of the cluster at t. It returns the IDs of the
// incidents whose objects have recovered since the last call.
func (a *Archive) Look(t time.Time, c *Cluster) (changed []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		was := p.stands()
		for _, s := range p.standing {
			switch {
			case s.over:
			case s.lasts(c):
				s.seen = true
			default:
				s.over, s.recovered = true, t
			}
		}
		if was && !p.stands() {
			changed = append(changed, p.ID)
		}
	}
	return changed
}

// stands reports whether an object may not have recovered yet.
func (p *past) stands() bool {
	return slices.ContainsFunc(p.standing, func(s *standing) bool { return !s.over })
}

// lastRecovery returns the last time at which this process saw a recovery, or zero if it saw none.
func (p *past) lastRecovery() (last time.Time) {
	for _, s := range p.standing {
		if s.seen && s.recovered.After(last) {
			last = s.recovered
		}
	}
	return last
}

// asOf returns the incident with its outages as of t. If this process has seen a Service without a ready address, the
// outage counts as one that lasted since before the restart. Otherwise it ended at an unknown time, and only the time
// before the restart counts.
func (p *past) asOf(t time.Time) incident.Incident {
	x := p.Incident
	if len(p.standing) == 0 {
		return x
	}
	x.Services = slices.Clone(p.Services)
	for _, o := range p.standing {
		if !o.down {
			continue
		}
		i := slices.IndexFunc(x.Services, func(s incident.Service) bool { return o.service == ServiceName{s.Namespace, s.Name} })
		s := &x.Services[i]
		s.Inexact, s.Down = true, !o.over
		if !o.seen {
			continue
		}
		until := t
		if o.over {
			until = o.recovered
		}
		lasted := max(until.Sub(p.stopped), 0)
		s.OutageTime += lasted
		x.OutageTime += lasted
	}
	incident.SortServices(x.Services)
	summarise(&x)
	return x
}

// summarise updates the summary, unless an earlier version of kubeflap saved the incident.
func summarise(x *incident.Incident) {
	effect := x.LossText()
	if effect == "" && ofNodes(x.Scope) {
		effect = "no Service lost a ready address"
	}
	if x.Happened != "" && effect != "" {
		x.Summary = x.Sentence(effect)
	}
}
