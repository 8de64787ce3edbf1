package whatif

import "time"

// slow is the maximum delay between an event of a pod and the related event of its address or node. Each watch delivers
// its events independently.
const slow = 5 * time.Second

// hold must be called when the node controller has set a pod's Ready condition to False. It sets `held` for the pod's
// addresses that have just become unready.
func (s *services) hold(p *pod, t time.Time) {
	for _, a := range p.addresses {
		s.holdAddress(a, t)
	}
}

func (s *services) holdAddress(a *address, t time.Time) {
	if a.apart || a.ready || a.held || a.last == 0 || a.service.addresses[a.id] != a {
		return
	}
	last := &s.changes[a.last-1]
	if last.ready || last.first || t.Sub(last.at) > slow {
		return
	}
	a.held, last.base = true, true
}

// keep must be called when a pod has been evicted. It sets `kept` for the pod's addresses that were held and have just
// been removed.
func (s *services) keep(p *pod, t time.Time) {
	for _, a := range p.addresses {
		if !a.left || a.kept {
			continue
		}
		if last := &s.changes[a.last-1]; !last.gone && t.Sub(last.at) <= slow {
			last.base = true
			a.keep()
		}
	}
}

// keep records that the address was removed because its pod was evicted.
func (a *address) keep() {
	a.held, a.kept = true, true
	a.service.kept = append(a.service.kept, a)
}

// linkKept links kept addresses with the addresses that replaced them. For each kept address, it also adds a change
// that removes the address when the last replacement of its pod is gone.
func (s *services) linkKept(begin time.Time) {
	for _, p := range s.pods.all {
		for _, a := range p.addresses {
			if p.replaces != nil {
				a.standsFor = p.replaces.keptIn(a.service)
			}
			if end := p.left(begin); a.kept && !end.IsZero() {
				s.changes = append(s.changes, change{at: end, address: a})
			}
		}
	}
}

// keptIn returns the pod's kept address in a Service, or nil.
func (p *pod) keptIn(x *service) *address {
	for _, a := range p.addresses {
		if a.service == x && a.kept {
			return a
		}
	}
	return nil
}

// root follows standsFor to the original address.
func (a *address) root() *address {
	for a.standsFor != nil {
		a = a.standsFor
	}
	return a
}
