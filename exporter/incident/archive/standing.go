package archive

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// holdAtMost is the maximum time after a restart for which addresses that are not ready keep an incident open. They may
// be others than those that the incident lost.
const holdAtMost = time.Hour

// Cluster is the current state of the objects of incidents. An object that does not exist is in no map.
type Cluster struct {
	// NotReady holds the nodes whose Ready condition is not True.
	NotReady map[string]bool
	// Services holds the Services that lack ready addresses.
	Services map[ServiceName]Lacking
}

// ServiceName identifies a Service.
type ServiceName struct{ Namespace, Name string }

// Lacking describes which ready addresses a Service lacks: all of them, or NotReady of them.
type Lacking struct {
	All      bool
	NotReady int
}

// standing is an object that may not have recovered when kubeflap stopped. This process may report no incident of it: the
// tracker does not know that the object was once ready.
type standing struct {
	// node is the name of a node, or empty for a Service.
	node    string
	service ServiceName
	// out is the number of lost addresses of the Service that were not back.
	out int
	// down reports whether the Service has an outage. Without inGap, the outage began before kubeflap stopped. With inGap,
	// it began between the stop and the first look. began is the time of the stop or, with inGap, of the first look.
	down, inGap bool
	began       time.Time
	// upAt is the end of the outage, as this process saw it. It is zero until then.
	upAt time.Time
	// looked is set after the first look. notReady is the number of addresses that were not ready then.
	looked   bool
	notReady int
	// seen reports whether this process has seen the object before it recovered. recovered is the time of its recovery if
	// seen is set.
	seen      bool
	recovered time.Time
	// over reports whether the object has recovered.
	over bool
}

// look compares the object with the cluster's state at t. late reports whether holdAtMost has passed.
func (s *standing) look(t time.Time, c *Cluster, late bool) {
	lacks := c.Services[s.service]
	lasts := c.NotReady[s.node]
	if s.node == "" {
		s.lookAtOutage(t, lacks)
		lasts = lacks.All || !late && s.out > 0 && lacks.NotReady > max(s.notReady-s.out, 0)
	}
	if lasts {
		s.seen = true
		return
	}
	s.over, s.recovered = true, t
}

func (s *standing) lookAtOutage(t time.Time, lacks Lacking) {
	if !s.looked {
		s.looked, s.notReady = true, lacks.NotReady
		if lacks.All && !s.down {
			s.down, s.inGap, s.began = true, true, t
		}
	}
	if s.down && s.upAt.IsZero() && !lacks.All {
		s.upAt = t
	}
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

// hold collects the objects that may not have recovered. After a recovery, only an outage that began since then counts.
func (p *past) hold() {
	running := p.State == incident.StateRunning
	if running && ofNodes(p.Scope) {
		for _, name := range p.Nodes {
			p.standing = append(p.standing, &standing{node: name})
		}
	}
	for _, s := range p.Services {
		x := standing{service: ServiceName{s.Namespace, s.Name}, down: s.Down, began: p.stopped}
		if running {
			x.out = max(s.Lost-s.Bounces, 0)
		}
		p.standing = append(p.standing, &x)
	}
}

// holds reports whether a Service may not have recovered.
func (p *past) holds(s ServiceName) bool {
	return slices.ContainsFunc(p.standing, func(x *standing) bool { return x.node == "" && x.service == s && !x.over })
}

// Stands reports whether an object from before the restart may not have recovered yet. Look is then to be called.
func (a *Archive) Stands() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.watching.IsZero() && slices.ContainsFunc(a.past, func(p *past) bool {
		return slices.ContainsFunc(p.standing, func(s *standing) bool { return !s.over })
	})
}

// Look compares the incidents from before the restart with the state of the cluster at t. It returns the IDs of the
// incidents whose objects have recovered since the last call.
func (a *Archive) Look(t time.Time, c *Cluster) (changed []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	late := t.Sub(a.watching) > holdAtMost
	for _, p := range a.past {
		was := p.stands()
		for _, s := range p.standing {
			if !s.over {
				s.look(t, c, late)
			}
		}
		if p.stands() && p.State == incident.StateRecovered {
			p.State, p.End = incident.StateRunning, time.Time{}
		}
		if was && !p.stands() {
			changed = append(changed, p.ID)
		}
	}
	return changed
}

// Ongoing returns the incidents from before the restart that this process has seen to be ongoing, although no current
// incident continues them.
func (a *Archive) Ongoing(t time.Time) (all []incident.Incident) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if p.open && (p.stands() || !p.lastRecovery().IsZero()) && p.openBlind() < 0 {
			all = append(all, p.asOf(t))
		}
	}
	return all
}

// stands reports whether an object has not recovered, as far as is known.
func (p *past) stands() bool {
	return slices.ContainsFunc(p.standing, func(s *standing) bool {
		return !s.over && (s.seen || !s.looked && p.State == incident.StateRunning)
	})
}

// lastRecovery returns the last time at which this process saw a recovery, or zero if it saw none.
func (p *past) lastRecovery() (last time.Time) {
	for _, s := range p.standing {
		if s.over && s.seen && s.recovered.After(last) {
			last = s.recovered
		}
	}
	return last
}

// asOf returns the incident as of t. If this process has seen a Service without a ready address, the outage counts as one
// that lasted since before the restart. Otherwise it ended at an unknown time, and only the time before the restart counts.
func (p *past) asOf(t time.Time) incident.Incident {
	x := p.Incident
	if len(p.standing) == 0 {
		return x
	}
	if last := p.lastRecovery(); p.open && x.End.IsZero() && !last.IsZero() && !p.stands() {
		x.State, x.End = incident.StateRecovered, last
	}
	x.Services = slices.Clone(p.Services)
	for _, o := range p.standing {
		if !o.down {
			continue
		}
		i := slices.IndexFunc(x.Services, func(s incident.Service) bool { return o.service == ServiceName{s.Namespace, s.Name} })
		s := &x.Services[i]
		s.Inexact, s.Down = true, o.upAt.IsZero()
		if o.inGap {
			s.Outages++
			x.Outages++
		}
		if !o.seen {
			continue
		}
		until := t
		if !o.upAt.IsZero() {
			until = o.upAt
		}
		lasted := max(until.Sub(o.began), 0)
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
		effect = "no Service lost a ready address while kubeflap watched"
	}
	if x.Happened != "" && effect != "" {
		x.Summary = x.Sentence(effect)
	}
}
