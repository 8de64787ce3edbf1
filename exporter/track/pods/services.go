package pods

// Service is a Service that contains a pod. Package services implements the interface.
type Service interface{ Exists() bool }

// ServiceList is an immutable list of Services. Several pods can share it.
type ServiceList struct {
	Service Service
	Rest    *ServiceList
}

// existing returns the list without the Services that no longer exist.
func (l *ServiceList) existing() *ServiceList {
	if l == nil {
		return nil
	}
	rest := l.Rest.existing()
	switch {
	case !l.Service.Exists():
		return rest
	case rest == l.Rest:
		return l
	}
	return &ServiceList{l.Service, rest}
}

// JoinService records that a Service contains the pod. `alone` is a list that contains only this Service. Pods that
// belong to no other Service share this list.
func (p *Pod) JoinService(alone *ServiceList) {
	all := p.existingServices()
	for l := all; l != nil; l = l.Rest {
		if l.Service == alone.Service {
			return
		}
	}
	if p.services = alone; all != nil {
		p.services = &ServiceList{alone.Service, all}
	}
}

func (p *Pod) existingServices() *ServiceList {
	p.services = p.services.existing()
	return p.services
}
