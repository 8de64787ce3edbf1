package pods

// Service is a Service that holds a pod, as package endpoints keeps it.
type Service interface{ Exists() bool }

// ServiceList is a list of Services. It never changes, so pods share it.
type ServiceList struct {
	Service Service
	Rest    *ServiceList
}

// existing are the Services of the list that still exist.
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

// JoinService notes that a Service holds the pod. alone is the list of only that Service, which all pods share that are in no other.
func (p *Pod) JoinService(alone *ServiceList) {
	for l := p.services; l != nil; l = l.Rest {
		if l.Service == alone.Service {
			return
		}
	}
	// Services come and go while the pod stays.
	if p.existingServices() == nil {
		p.services = alone
	} else {
		p.services = &ServiceList{alone.Service, p.services}
	}
}

func (p *Pod) existingServices() *ServiceList {
	p.services = p.services.existing()
	return p.services
}
