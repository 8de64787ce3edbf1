package pods

import "slices"

// Service is a Service that contains a pod. Package services implements the interface.
type Service interface{ Exists() bool }

// JoinService records that a Service contains the pod. Pods with the same template have the same Services.
func (x *store) JoinService(p *Pod, s Service) {
	if f := x.of(p); !slices.Contains(f.services, s) {
		f.services = append(slices.DeleteFunc(f.services, func(s Service) bool { return !s.Exists() }), s)
	}
}
