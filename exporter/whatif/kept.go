package whatif

import "time"

// slow is the longest delay between the loss of an address and the time at which its pod was marked. Events of
// different watches have no common order.
const slow = 5 * time.Second

// hold records that the node controller marked a pod as not ready. If addresses of the pod were lost just before, the
// mark is the reason for the loss.
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

// keep records that a pod was evicted. If held addresses of the pod left their Services shortly before, the eviction is
// the reason.
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

// keep records that the eviction of the pod removed the address. The address stays held.
func (a *address) keep() {
	a.held, a.kept = true, true
	a.service.kept = append(a.service.kept, a)
}

// linkKept finds the addresses that replaced kept addresses. A kept address ends when the last replacement of its pod
// is gone.
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

// root returns the original address that this address replaced, directly or through other addresses. If this address
// replaced no other address, root returns the address itself.
func (a *address) root() *address {
	for a.standsFor != nil {
		a = a.standsFor
	}
	return a
}
