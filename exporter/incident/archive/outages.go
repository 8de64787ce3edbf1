package archive

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// outage is an outage of a Service that was ongoing when kubeflap stopped. The tracker of this process does not report
// it, because the Service has had no ready address since then.
type outage struct {
	namespace, name string
	// seen reports whether this process has seen the Service without a ready address. recovered is the end of the outage
	// if seen is set.
	seen      bool
	recovered time.Time
	// over reports whether the outage has ended.
	over bool
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

// holdOutages collects the ongoing outages.
func (p *past) holdOutages() {
	for _, s := range p.Services {
		if s.Down {
			p.outages = append(p.outages, &outage{namespace: s.Namespace, name: s.Name})
		}
	}
}

// HasOutages reports whether an outage from before the restart may still be ongoing.
func (a *Archive) HasOutages() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.watching.IsZero() && slices.ContainsFunc(a.past, (*past).isDown)
}

// Look updates the outages from before the restart as of t. down reports whether a Service has no ready address. Look
// returns the IDs of the incidents whose outages have ended since the last call.
func (a *Archive) Look(t time.Time, down func(namespace, name string) bool) (changed []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.past {
		was := p.isDown()
		for _, o := range p.outages {
			switch {
			case o.over:
			case down(o.namespace, o.name):
				o.seen = true
			default:
				o.over, o.recovered = true, t
			}
		}
		if was && !p.isDown() {
			changed = append(changed, p.ID)
		}
	}
	return changed
}

// isDown reports whether an outage from before the restart may still be ongoing.
func (p *past) isDown() bool {
	return slices.ContainsFunc(p.outages, func(o *outage) bool { return !o.over })
}

// lastRecovery returns the last time at which this process saw the end of an outage, or zero if it saw none.
func (p *past) lastRecovery() (last time.Time) {
	for _, o := range p.outages {
		if o.seen && o.recovered.After(last) {
			last = o.recovered
		}
	}
	return last
}

// asOf returns the incident with its outages as of t. If this process has seen a Service without a ready address, the
// outage counts as one that lasted since before the restart. Otherwise it ended at an unknown time, and only the time
// before the restart counts.
func (p *past) asOf(t time.Time) incident.Incident {
	x := p.Incident
	if len(p.outages) == 0 {
		return x
	}
	x.Services = slices.Clone(p.Services)
	for _, o := range p.outages {
		i := slices.IndexFunc(x.Services, func(s incident.Service) bool { return s.Namespace == o.namespace && s.Name == o.name })
		if i < 0 {
			continue
		}
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
func (p *past) summarise() { summarise(&p.Incident) }

func summarise(x *incident.Incident) {
	effect := x.LossText()
	if effect == "" && ofNodes(x.Scope) {
		effect = "no Service lost a ready address"
	}
	if x.Happened != "" && effect != "" {
		x.Summary = x.Sentence(effect)
	}
}
