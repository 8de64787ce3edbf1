package endpoints

import (
	"bytes"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// keeper is who writes the addresses of an object.
type keeper uint8

const (
	// unproven: a controller of Kubernetes, as far as can be told.
	unproven keeper = iota
	// knownManager: another controller that is known to keep slices.
	knownManager
	// foreigner: anybody else.
	foreigner
)

// foreigners finds addresses that neither Kubernetes nor a known manager wrote.
type foreigners struct {
	// known are the managers that the operator named.
	known map[string]bool
}

func newForeigners(known []string) foreigners {
	x := foreigners{known: map[string]bool{}}
	for _, name := range known {
		x.known[name] = true
	}
	return x
}

// inSlice notes who keeps a slice, and its foreign addresses: all, as one manager keeps the whole slice.
func (x foreigners) inSlice(h *source, o *event.EndpointSlice) {
	h.foreign = h.foreign[:0]
	switch {
	case h.controlled, h.mirrored:
		h.keeper = unproven
	case x.known[o.ManagedBy], event.IsSliceManager(o.ManagedBy):
		h.keeper = knownManager
	default:
		h.keeper = foreigner
		for i := range o.Addresses {
			h.foreign = append(h.foreign, o.Addresses[i].UID)
		}
	}
}

// inEndpoints notes who wrote Endpoints, and the foreign addresses in them: those that no controller made from a pod, or all if another manager than
// before wrote them. A distribution may have renamed the controller: so an unknown name alone proves nothing.
func (x foreigners) inEndpoints(h *source, o *event.Endpoints) {
	h.keeper, h.foreign = unproven, h.foreign[:0]
	switch {
	case x.known[o.Writer]:
		h.keeper = knownManager
	case o.Writer != "" && !event.IsControllerManager(o.Writer) && h.writer != event.Hash(o.Writer):
		h.keeper = foreigner
	}
	for i := range o.Addresses {
		if h.keeper == foreigner || o.Addresses[i].ByHand && h.keeper == unproven {
			h.foreign = append(h.foreign, o.Addresses[i].UID)
		}
	}
}

// wasOverwritten reports whether somebody applied addresses that are not there any more.
func (x foreigners) wasOverwritten(o *event.Endpoints) bool {
	other := o.OtherWriter != "" && !x.known[o.OtherWriter] && !event.IsControllerManager(o.OtherWriter)
	return len(o.Addresses) == 0 && (o.LastApplied || other)
}

// foreignAddresses counts the foreign addresses of a Service with a selector, each once. Without a selector, no controller of
// Kubernetes writes addresses: somebody else has to.
func (s *service) foreignAddresses() int {
	if !s.selector {
		return 0
	}
	var all []event.UID
	for _, h := range s.sources {
		all = append(all, h.foreign...)
	}
	slices.SortFunc(all, func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
	return len(slices.Compact(all))
}
