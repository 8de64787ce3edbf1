package pods

// Service is a Service that contains a pod. Package services implements the interface.
type Service interface{ Exists() bool }

// ServiceList is an immutable list of Services. Several pods can share it.
type ServiceList struct {
	Service Service
	Rest    *ServiceList
}

// JoinService records that a Service contains the pod. `alone` is a list that contains only this Service. Pods that
// belong to no other Service share this list.
func (p *Pod) JoinService(alone *ServiceList) {
	var others *ServiceList
	for l := p.services; l != nil; l = l.Rest {
		if l.Service == alone.Service {
			return
		}
		if l.Service.Exists() {
			others = &ServiceList{l.Service, others}
		}
	}
	if p.services = alone; others != nil {
		p.services = &ServiceList{alone.Service, others}
	}
}
