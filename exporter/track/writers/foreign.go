package writers

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

// inSlice notes who keeps a slice, and its foreign addresses: all, as one manager keeps the whole slice.
func (x *Writers) inSlice(h *Source, o *event.EndpointSlice) {
	h.foreign = h.foreign[:0]
	switch {
	case h.Controlled, h.Mirrored:
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
func (x *Writers) inEndpoints(h *Source, o *event.Endpoints) {
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

// emptied reports whether somebody applied addresses that are not there any more.
func (x *Writers) emptied(o *event.Endpoints) bool {
	other := o.OtherWriter != "" && !x.known[o.OtherWriter] && !event.IsControllerManager(o.OtherWriter)
	return len(o.Addresses) == 0 && (o.LastApplied || other)
}

// IsForeign reports whether the source is of a foreign writer beside a selector, IsKnown whether it is of a known manager.
func IsForeign(s Service, h *Source) bool { return h.keeper == foreigner && s.HasSelector() }

// IsKnown reports whether a known manager keeps the source.
func (h *Source) IsKnown() bool { return h.keeper == knownManager }

// ForeignAddresses counts the foreign addresses of a Service with a selector, each once. Without a selector, no controller of
// Kubernetes writes addresses: somebody else has to.
func ForeignAddresses(s Service) int {
	if !s.HasSelector() {
		return 0
	}
	var all []event.UID
	for _, h := range s.Writers().sources {
		all = append(all, h.foreign...)
	}
	slices.SortFunc(all, func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
	return len(slices.Compact(all))
}
