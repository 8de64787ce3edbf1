package archive

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
)

// Cluster tells which objects have not recovered. Its functions return false for objects that do not exist.
type Cluster struct {
	// Lost reports whether a node has not recovered. This is the case if its Ready condition is not True, or if its
	// Lease still has the given renewTime. The result beat reports whether the renewTime has changed.
	Lost func(node string, renewed time.Time) (lost, beat bool)
	// Down reports whether a Service has no ready address. Failing reports whether a Service has addresses, but none of
	// them is ready.
	Down, Failing func(ServiceName) bool
	// Out reports whether a Service lists the given address as not ready.
	Out func(ServiceName, event.UID) bool
	// Diverging reports whether Endpoints, EndpointSlices and pods have disagreed on the readiness of an address of a
	// Service for more than 10 s.
	Diverging func(ServiceName) bool
}

// divergingAfter is the time from the initial lists until Cluster.Diverging becomes reliable.
const divergingAfter = 15 * time.Second

// ServiceName identifies a Service.
type ServiceName struct{ Namespace, Name string }

// openObject is a node, an address or an outage that had not recovered when kubeflap stopped. The current process
// starts no incident for such an object, because it has never seen the object ready.
type openObject struct {
	// The field node is the name of a node. The field renewed is the last renewTime of the node's Lease, or zero if
	// unknown. For all other objects, node is empty and service is set.
	node    string
	renewed time.Time
	service ServiceName
	// The field address is the UID of an address. It is zero for all other objects.
	address event.UID
	// The flag withdrawn is set if the object stands for pod addresses that somebody removed from the Service's
	// Endpoints.
	withdrawn bool
	// The flag beat is set if the node has sent a heartbeat since kubeflap stopped.
	beat bool
	// The field began is the time from which the current process measures an outage. The flag inGap is set if the
	// outage began while kubeflap was not watching.
	began time.Time
	inGap bool
	// The flag seen is set if Check has found that the object had not recovered yet.
	seen bool
	// hasRecovered is set if the object has recovered. The field recovered is the time at which the current process
	// noticed the recovery.
	hasRecovered bool
	recovered    time.Time
}

func (h *openObject) isOutage() bool { return h.node == "" && h.address.IsZero() && !h.withdrawn }

// check compares the object with the cluster's state at t. The parameter `watching` is the time at which the current
// process finished listing the objects.
func (h *openObject) check(t, watching time.Time, c *Cluster) {
	if h.lasts(t, watching, c) {
		h.seen = true
		return
	}
	h.hasRecovered, h.recovered = true, t
}

func (h *openObject) lasts(t, watching time.Time, c *Cluster) (lasts bool) {
	switch {
	case h.node != "":
		lasts, h.beat = c.Lost(h.node, h.renewed)
		return lasts
	case h.withdrawn:
		return t.Sub(watching).Abs() < divergingAfter || c.Diverging(h.service)
	case h.isOutage():
		return c.Down(h.service)
	}
	return c.Out(h.service, h.address)
}

// hold fills p.openObjects with the objects that had not recovered when the incident was saved.
func (p *past) hold() {
	open := p.Open
	if open == nil {
		return
	}
	for _, name := range open.Nodes {
		p.openObjects = append(p.openObjects, &openObject{node: name, renewed: open.Renewed[name]})
	}
	for _, x := range open.Addresses {
		p.openObjects = append(p.openObjects, &openObject{service: ServiceName{x.Namespace, x.Service}, address: x.ID})
	}
	for _, x := range open.Outages {
		p.openObjects = append(p.openObjects, &openObject{service: ServiceName{x.Namespace, x.Service}, began: p.stopped})
	}
	if open.Withdrawn && len(p.Services) > 0 { // such an incident belongs to one Service
		p.openObjects = append(p.openObjects, &openObject{service: ServiceName{p.Services[0].Namespace, p.Services[0].Name}, withdrawn: true})
	}
}

// runOutages adds a duration to all ongoing outages.
func (p *past) runOutages(d time.Duration) {
	if d <= 0 {
		return
	}
	p.Services = slices.Clone(p.Services)
	for _, x := range p.openObjects {
		if x.isOutage() {
			p.addOutage(&p.Incident, x.service, d)
		}
	}
}

// addOutage adds a duration to the outage time of the incident x. It also adds it to the outage time of the Service if
// x lists the Service.
func (p *past) addOutage(x *incident.Incident, service ServiceName, d time.Duration) {
	x.OutageTime += d
	if s := serviceOf(x, service); s != nil {
		s.OutageTime += d
	}
}

func serviceOf(x *incident.Incident, name ServiceName) *incident.Service {
	i := slices.IndexFunc(x.Services, func(s incident.Service) bool { return name == ServiceName{s.Namespace, s.Name} })
	if i < 0 {
		return nil
	}
	return &x.Services[i]
}

// holdsNode reports whether the node had not recovered when kubeflap stopped, and has not recovered since.
func (p *past) holdsNode(name string) bool {
	return slices.ContainsFunc(p.openObjects, func(h *openObject) bool { return h.node == name && !h.hasRecovered })
}

// NeedsCheck reports whether Check still has to compare an incident with the cluster. This is the case until Check has
// found that all objects of the incident have recovered.
func (a *Archive) NeedsCheck() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.ContainsFunc(a.past, func(p *past) bool { return !p.listedAt.IsZero() && (!p.checked || p.hasOpenObjects()) })
}

// Check compares the past incidents with the cluster at t. The result `changed` contains the IDs of incidents that
// Check compared for the first time, and of incidents that have recovered since the last call. The result `ongoing`
// contains the IDs from `changed` whose incidents have not recovered. It omits incidents that a current incident
// continues.
func (a *Archive) Check(t time.Time, c *Cluster) (ongoing, changed []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.beginOutages(t, c)
	for _, p := range a.past {
		if p.listedAt.IsZero() {
			continue
		}
		first := !p.checked
		p.checked = true
		if p.check(t, c) || first && p.ongoing {
			changed = append(changed, p.ID)
		}
		if first && p.unresolved && p.hasOpenObjects() {
			p.note(p.listedAt, "kubeflap resumed watching: the incident was still ongoing")
			ongoing = append(ongoing, p.ID)
		}
	}
	return ongoing, changed
}

// check compares the objects that have not recovered with the cluster at t. It reports whether all of them have now
// recovered.
func (p *past) check(t time.Time, c *Cluster) (recovered bool) {
	stood := p.hasOpenObjects()
	for _, h := range p.openObjects {
		if !h.hasRecovered {
			h.check(t, p.listedAt, c)
		}
		if h.beat && h.seen {
			p.silentSince = time.Time{} // the silence ended, although the node is still not Ready
		}
	}
	switch stands := p.hasOpenObjects(); {
	case stands && p.State == incident.StateRecovered:
		p.State, p.End = incident.StateRunning, time.Time{}
	case stood && !stands:
		if p.unresolved && p.End.IsZero() && p.lastRecovery().IsZero() {
			p.recoverUnseen()
		}
		return true
	}
	return false
}

// beginOutages finds Services that lost their last ready address while kubeflap was not watching. It adds each outage
// to an incident that had already affected the Service. It prefers an incident in which an address of the Service is
// still not ready. Otherwise, it takes the newest incident. A Service without addresses does not count, because it may
// have been scaled to zero.
func (a *Archive) beginOutages(t time.Time, c *Cluster) {
	isNew := func(p *past) bool { return p.ongoing && !p.listedAt.IsZero() && !p.checked }
	if !slices.ContainsFunc(a.past, isNew) {
		return
	}
	claimed := map[ServiceName]bool{}
	for _, p := range a.past {
		for _, h := range p.openObjects {
			if h.isOutage() {
				claimed[h.service] = true
			}
		}
	}
	best := map[ServiceName]*past{}
	for _, p := range a.past { // from the oldest to the newest
		for _, s := range p.Services {
			name := ServiceName{s.Namespace, s.Name}
			if !isNew(p) || claimed[name] || !c.Failing(name) || best[name] != nil && best[name].hasOut(name, c) && !p.hasOut(name, c) {
				continue
			}
			best[name] = p
		}
	}
	for name, p := range best {
		p.openObjects = append(p.openObjects, &openObject{service: name, inGap: true, began: t})
	}
}

// hasOut reports whether the incident holds an address of the Service that is still not ready.
func (p *past) hasOut(name ServiceName, c *Cluster) bool {
	return slices.ContainsFunc(p.openObjects, func(h *openObject) bool {
		return h.service == name && !h.address.IsZero() && c.Out(name, h.address)
	})
}

// Ongoing returns the past incidents that were still ongoing after the restart. It omits incidents that a current
// incident continues.
func (a *Archive) Ongoing(t time.Time) (all []incident.Incident) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		if p.unresolved && p.checked && (p.hasOpenObjects() || !p.lastRecovery().IsZero()) {
			all = append(all, p.asOf(t))
		}
	}
	return all
}

// hasOpenObjects reports whether an object of the incident has not recovered yet.
func (p *past) hasOpenObjects() bool {
	return slices.ContainsFunc(p.openObjects, func(h *openObject) bool { return !h.hasRecovered })
}

// lastRecovery returns the time of the last recovery that the current process saw, or zero if it saw none.
func (p *past) lastRecovery() (last time.Time) {
	for _, h := range p.openObjects {
		if h.hasRecovered && h.seen && h.recovered.After(last) {
			last = h.recovered
		}
	}
	if !last.IsZero() && last.Before(p.Start) {
		return p.Start // the clock was set back
	}
	return last
}

// recoveredAt returns the time by which everything had recovered, or zero if something has not recovered.
func (p *past) recoveredAt() time.Time {
	switch {
	case p.hasOpenObjects():
		return time.Time{}
	case !p.End.IsZero():
		return p.End
	}
	return p.lastRecovery()
}

// asOf returns the incident as of t. It ends an outage at p.stopped if the current process has not seen this outage.
func (p *past) asOf(t time.Time) incident.Incident {
	x := p.Incident
	x.Open = nil
	if len(p.openObjects) == 0 {
		return x
	}
	if until := p.silentUntil(t); until.After(p.stopped) {
		p.lengthen(&x, until, false)
	}
	if at := p.recoveredAt(); p.unresolved && x.End.IsZero() && !at.IsZero() {
		x.State, x.End = incident.StateRecovered, at
	}
	x.Services = slices.Clone(p.Services)
	for _, h := range p.openObjects {
		if h.isOutage() {
			p.countOutage(&x, h, t)
		}
	}
	x.Open = p.stillOpen()
	incident.SortServices(x.Services)
	summarise(&x)
	p.endedUnseen(&x)
	return x
}

// silentUntil returns t if a node of the incident is still lost. Otherwise, it returns the time at which the last node
// recovered. If Check has seen no lost node, it returns p.stopped.
func (p *past) silentUntil(t time.Time) time.Time {
	until := p.stopped
	for _, h := range p.openObjects {
		switch {
		case h.node == "" || !h.seen:
		case !h.hasRecovered:
			return t
		case h.recovered.After(until):
			until = h.recovered
		}
	}
	return until
}

// endOutages ends an outage if the newer incident x contains a later outage of the same Service. The Service was ready
// between these outages, but too briefly for Check to notice.
func (p *past) endOutages(x *incident.Incident, t time.Time) {
	for _, h := range p.openObjects {
		if !h.isOutage() || h.hasRecovered || p.listedAt.IsZero() || !x.Start.After(p.listedAt) {
			continue
		}
		s := serviceOf(x, h.service)
		if s == nil || s.Outages == 0 {
			continue
		}
		h.hasRecovered, h.recovered = true, x.Start
		if s.Outages == 1 && s.Down {
			h.recovered = t.Add(-s.OutageTime)
		}
	}
}

func (p *past) countOutage(x *incident.Incident, h *openObject, t time.Time) {
	s := serviceOf(x, h.service)
	if s != nil {
		s.Inexact, s.Down = true, !h.hasRecovered
	}
	if h.inGap {
		x.Outages++
		if s != nil {
			s.Outages++
		}
	}
	if !h.seen {
		return
	}
	until := t
	if h.hasRecovered {
		until = h.recovered
	}
	p.addOutage(x, h.service, max(until.Sub(h.began), 0))
}

// stillOpen returns the objects that have not recovered. They are saved for the next restart.
func (p *past) stillOpen() *incident.Open {
	if !p.hasOpenObjects() {
		return nil
	}
	open := &incident.Open{Renewed: map[string]time.Time{}}
	for _, h := range p.openObjects {
		switch {
		case h.hasRecovered:
		case h.node != "":
			open.Nodes = append(open.Nodes, h.node)
			if !h.renewed.IsZero() {
				open.Renewed[h.node] = h.renewed
			}
		case h.withdrawn:
			open.Withdrawn = true
		case h.isOutage():
			open.Outages = append(open.Outages, incident.OpenOutage{Namespace: h.service.Namespace, Service: h.service.Name, Since: h.began})
		default:
			open.Addresses = append(open.Addresses, incident.OpenAddress{Namespace: h.service.Namespace, Service: h.service.Name, ID: h.address})
		}
	}
	return open
}

// summarise updates the effect on Services in the summary. It changes nothing if the incident was withdrawn.
func summarise(x *incident.Incident) {
	effect := x.LossText()
	if effect == "" && isAboutNodes(x.Scope) {
		effect = "no Service lost a ready address while kubeflap watched"
	}
	if x.Happened != "" && effect != "" {
		x.Summary = x.Sentence(effect)
	}
}

// soonAfter reports whether the incident recovered at most record.Quiet before t. If kubeflap did not see the recovery,
// soonAfter uses p.stopped instead of its time.
func (p *past) soonAfter(t time.Time) bool {
	switch at := p.recoveredAt(); {
	case at.IsZero():
		return false
	case p.unseen:
		return t.Sub(p.stopped) <= record.Quiet
	}
	return p.quietFor(t) <= record.Quiet
}

// quietFor returns the time from the incident's recovery to t. If the clock was set back after the recovery, quietFor
// uses p.listedAt as the time of the recovery.
func (p *past) quietFor(t time.Time) time.Duration {
	at := p.recoveredAt()
	if at.After(p.listedAt) && at.After(t) && !p.listedAt.IsZero() {
		at = p.listedAt
	}
	return t.Sub(at)
}
