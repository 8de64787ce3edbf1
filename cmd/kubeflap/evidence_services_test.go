package main

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func withoutSelector(events []event.Event, _ *pageIncident) []event.Event {
	return replaced(events, func(o event.Object) event.Object {
		if v, ok := o.(*event.Service); ok {
			return changed(v, func(v *event.Service) { v.Selector = nil })
		}
		return nil
	})
}

// withoutWriters lets the controllers of Kubernetes have written all addresses. They write only those of pods.
func withoutWriters(events []event.Event, _ *pageIncident) []event.Event {
	const manager = "kube-controller-manager"
	isManual := func(a event.Address) bool { return a.ByHand }
	return replaced(events, func(o event.Object) event.Object {
		switch o := o.(type) {
		case *event.EndpointSlice:
			return changed(o, func(s *event.EndpointSlice) {
				s.ManagedBy, s.Writer, s.Addresses = "endpointslice-controller.k8s.io", manager, slices.DeleteFunc(s.Addresses, isManual)
			})
		case *event.Endpoints:
			return changed(o, func(x *event.Endpoints) {
				x.Writer, x.OtherWriter, x.LastApplied, x.Addresses = manager, "", false, slices.DeleteFunc(x.Addresses, isManual)
			})
		}
		return nil
	})
}

func withoutChangesOfServices(events []event.Event, _ *pageIncident) []event.Event {
	return without(events, func(e *event.Event) bool { return e.Kind == event.KindService && e.Type == event.Modified })
}

// withoutChangesOfPods removes what shows why pods became not ready, or that they were deleted.
func withoutChangesOfPods(events []event.Event, x *pageIncident) []event.Event {
	events = without(events, func(e *event.Event) bool {
		return e.Kind == event.KindPod && (e.Type == event.Modified || e.Type == event.Deleted) && e.Object.Metadata().Namespace == x.Namespace
	})
	return replaced(events, func(o event.Object) event.Object {
		if s, ok := o.(*event.EndpointSlice); ok {
			return changed(s, func(s *event.EndpointSlice) {
				for i := range s.Addresses {
					s.Addresses[i].Terminating = false
				}
			})
		}
		return nil
	})
}
