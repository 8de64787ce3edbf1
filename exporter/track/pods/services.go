package pods

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/waiting"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

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

// Pending returns the pods in phase Pending that the selector matches, in any order.
func (x *Pods) Pending(namespace string, by Selector) []event.UID {
	return x.waiting.Pending(namespace, by.selects)
}

// WaitOf returns what the pods of a Service without a ready address wait for. The Service has some addresses that are not
// ready. Its last ready addresses were those of the pods `lost`, and `last` is the previous result.
func (x *Pods) WaitOf(namespace string, by Selector, addresses, lost []event.UID, last transition.Wait) transition.Wait {
	q := waiting.Question{Namespace: namespace, Selects: by.selects, Addresses: addresses, Last: last}
	if last.Kind == transition.WaitAddress {
		q.Addresses = append(q.Addresses, last.UID)
	}
	isReady := func(id event.UID) bool {
		p := x.Find(id)
		return p != nil && p.IsReady() && p.RemovalCause == cause.Unknown
	}
	for _, id := range q.Addresses {
		if isReady(id) {
			p := x.Find(id)
			q.Ready = append(q.Ready, transition.Wait{Pod: p.name(), UID: id, Node: p.node.Value(), Since: x.watches.Time(p.ReadyChangedAt)})
		}
	}
	q.MayHaveLeft = slices.ContainsFunc(lost, isReady)
	return x.waiting.Answer(q)
}
