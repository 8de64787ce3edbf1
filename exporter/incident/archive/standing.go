package archive

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// holdAtMost is the maximum time after a restart for which addresses that are not ready keep an incident open. kubeflap
// cannot know whether these are the addresses that the incident lost.
const holdAtMost = time.Hour

// Cluster is the current state of all nodes and Services. Nodes and Services that do not exist are in neither map.
type Cluster struct {
	// NotReady holds the nodes whose Ready condition is not True.
	NotReady map[string]bool
	// Services holds the Services that lack ready addresses.
	Services map[ServiceName]Lacking
	// NotReadyOn returns the node of each unready address of a Service. An unknown node is "".
	NotReadyOn func(ServiceName) []string
}

// notReadyOn returns the number of a Service's unready addresses that are, or may be, on one of the nodes.
func (c *Cluster) notReadyOn(s ServiceName, nodes []string) (n int) {
	for _, node := range c.NotReadyOn(s) {
		if node == "" || slices.Contains(nodes, node) {
			n++
		}
	}
	return n
}

// ServiceName identifies a Service.
type ServiceName struct{ Namespace, Name string }

// Lacking describes the ready addresses that a Service lacks. All is set if no address is ready. NotReady is the number
// of addresses that are not ready.
type Lacking struct {
	All      bool
	NotReady int
}

// standing is a node or a Service (an object) that may not have recovered when kubeflap stopped. The current process
// possibly reports no incident for this object, because its tracker does not know that the object was once ready.
type standing struct {
	// node is the name of a node, or empty for a Service.
	node    string
	service ServiceName
	// out is the number of the Service's lost addresses that had not returned when kubeflap stopped.
	out int
	// down reports whether the Service had an outage when kubeflap stopped, or at the first call of look. inGap reports
	// whether the outage began in between. began is the time from which asOf counts the outage: the time of the first
	// call if inGap is set, otherwise the time at which kubeflap stopped.
	down, inGap bool
	began       time.Time
	// lasted reports whether the current process has seen the outage. upAt is the time at which it saw the Service with a
	// ready address, or zero if the outage is ongoing.
	lasted bool
	upAt   time.Time
	// looked is set after the first call of look. notReady is the number of addresses that were not ready at that time.
	looked   bool
	notReady int
	// seen reports whether the current process has seen the object before the object recovered. If seen is set,
	// recovered is the time of the recovery.
	seen      bool
	recovered time.Time
	// over reports whether the object has recovered.
	over bool
}

// lostOn returns the nodes on which the addresses of the incident were lost. It returns nil if the addresses may have
// been on any node.
func (p *past) lostOn() []string {
	if !ofNodes(p.Scope) || p.NodesLeftOut > 0 {
		return nil
	}
	return p.Nodes
}

// look compares the object with the cluster's state at t. nodes is the result of lostOn. late reports whether holdAtMost
// has passed.
func (s *standing) look(t time.Time, c *Cluster, nodes []string, late bool) {
	lacks := c.Services[s.service]
	lasts := c.NotReady[s.node]
	if s.node == "" {
		if nodes != nil && s.out > 0 && lacks.NotReady > 0 {
			lacks.NotReady = c.notReadyOn(s.service, nodes)
		}
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
	s.lasted = s.lasted || lacks.All && s.upAt.IsZero()
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

// hold fills standing with the objects that may not have recovered. If the incident is no longer running, only a new
// outage of one of its Services can reopen it.
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

// Stands reports whether an object of a past incident may not have recovered yet. If so, the caller must call Look
// regularly.
func (a *Archive) Stands() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.watching.IsZero() && slices.ContainsFunc(a.past, func(p *past) bool {
		return slices.ContainsFunc(p.standing, func(s *standing) bool { return !s.over })
	})
}

// Look compares the past incidents with the state of the cluster at t. It returns the IDs of the incidents whose last
// unrecovered object has recovered since the previous call.
func (a *Archive) Look(t time.Time, c *Cluster) (changed []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	late := t.Sub(a.watching) > holdAtMost
	for _, p := range a.past {
		was := p.stands()
		for _, s := range p.standing {
			if !s.over {
				s.look(t, c, p.lostOn(), late)
			}
		}
		if p.stands() && p.State == incident.StateRecovered {
			p.State, p.End = incident.StateRunning, time.Time{}
		}
		if was && !p.stands() {
			if p.open && p.End.IsZero() && p.lastRecovery().IsZero() {
				p.recoverUnseen(a.watching)
			}
			changed = append(changed, p.ID)
		}
	}
	return changed
}

// Ongoing returns the past incidents that no current incident continues, although the current process has seen that
// they were still ongoing.
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

// stands reports whether an object of the incident has not recovered, as far as kubeflap knows.
func (p *past) stands() bool {
	return slices.ContainsFunc(p.standing, func(s *standing) bool {
		return !s.over && (s.seen || !s.looked && p.State == incident.StateRunning)
	})
}

// lastRecovery returns the last time at which the current process saw a recovery, or zero if it saw none.
func (p *past) lastRecovery() (last time.Time) {
	for _, s := range p.standing {
		if s.over && s.seen && s.recovered.After(last) {
			last = s.recovered
		}
	}
	return last
}

// asOf returns the incident as of t. If a Service was down before the restart and is still down at the first call of
// Look, its outage counts as continuous. Otherwise, the outage ended at an unknown time, and only the time before the
// restart counts.
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
		if !o.lasted {
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
	p.endedUnseen(&x)
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
