package writers

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// keeper is the kind of writer that manages an object's addresses.
type keeper uint8

const (
	// unproven means a Kubernetes controller or an unidentified writer.
	unproven keeper = iota
	// knownManager means a manager that the user configured, or that event.IsSliceManager recognizes.
	knownManager
	// foreigner means any other writer.
	foreigner
)

// foreign is the record of an object's addresses that neither Kubernetes nor a known manager wrote. These addresses
// count as foreign only if the Service has a selector.
type foreign struct {
	addresses []event.UID
	ready     int
	// object is the name of the object that contains the addresses, with its manager or writer. version is the object's
	// resourceVersion when the addresses appeared.
	object, version string
	// reported is set if the addresses have been reported as foreign.
	reported bool
}

// classifySlice records who manages a slice. If the manager is foreign, all addresses in the slice are foreign.
func (x *Writers) classifySlice(h *Source, o *event.EndpointSlice) {
	switch {
	case h.Controlled, h.Mirrored:
		h.keeper = unproven
	case x.known[o.ManagedBy], event.IsSliceManager(o.ManagedBy):
		h.keeper = knownManager
	default:
		h.keeper = foreigner
	}
	var foreign []event.Address // stays nil for most slices
	if h.keeper == foreigner {
		foreign = o.Addresses
	}
	h.noteForeign(foreign, func(*event.Address) bool { return true })
	if h.foreign != nil && h.foreign.object == "" {
		h.foreign.version, h.foreign.object = o.ResourceVersion, "EndpointSlice "+o.Name+keptBy(o.ManagedBy, o.Writer)
	}
}

// classifyEndpoints records the writer and the foreign addresses of an Endpoints object. A known manager writes no
// foreign addresses. If an unknown writer changes the object of another writer, the addresses that it adds or makes
// ready are foreign. In all other cases, the addresses without a targetRef are foreign. The name of the first writer is
// not checked, because a distribution can rename the controller. The parameter before holds the object's previous
// addresses.
func (x *Writers) classifyEndpoints(h *Source, o *event.Endpoints, before []addresses.Entry) {
	was := h.keeper
	h.keeper = unproven
	switch {
	case x.known[o.Writer]:
		h.keeper = knownManager
	case o.Writer != "" && !event.IsControllerManager(o.Writer) && h.writer != event.Hash(o.Writer):
		h.keeper = foreigner
	}
	switch {
	case h.keeper != foreigner:
		h.own = nil
	case was != foreigner:
		h.keepOwn(before)
	}
	h.noteForeign(o.Addresses, func(a *event.Address) bool {
		ready, own := h.own[a.UID]
		return h.keeper == foreigner && (!own && !o.Truncated || a.Ready && !ready && own || a.ByHand && !own) || a.ByHand && h.keeper == unproven
	})
	if h.foreign != nil && h.foreign.object == "" {
		h.foreign.version, h.foreign.object = o.ResourceVersion, nameOf(o)
	}
	h.noteWithdrawn(o)
}

func nameOf(o *event.Endpoints) string { return "Endpoints " + o.Name + keptBy("", o.Writer) }

// keepOwn stores the addresses that were in the object before a foreign writer changed it. It omits foreign addresses.
func (h *Source) keepOwn(before []addresses.Entry) {
	h.own = map[event.UID]bool{}
	for _, a := range before {
		if h.foreign == nil || !slices.Contains(h.foreign.addresses, a.UID) {
			h.own[a.UID] = a.State == addresses.Ready
		}
	}
}

// keepForeign stores the addresses that have already been reported as foreign.
func (h *Source) keepForeign() {
	h.wereForeign = nil
	if h.foreign != nil && h.foreign.reported {
		h.wereForeign = h.foreign.addresses
	}
}

// WereForeign returns the addresses that had been reported as foreign before the newest event.
func (h *Source) WereForeign() []event.UID { return h.wereForeign }

// ReportedForeign returns a Service's addresses that are reported as foreign.
func ReportedForeign(s Service) (all []event.UID) {
	for _, h := range s.Writers().sources {
		if h.foreign != nil && h.foreign.reported {
			all = append(all, h.foreign.addresses...)
		}
	}
	return all
}

// noteForeign stores an object's foreign addresses.
func (h *Source) noteForeign(held []event.Address, isForeign func(*event.Address) bool) {
	was := h.foreign
	h.foreign = nil
	for i := range held {
		a := &held[i]
		if !isForeign(a) {
			continue
		}
		if h.foreign == nil {
			h.foreign = &foreign{}
		}
		h.foreign.addresses = append(h.foreign.addresses, a.UID)
		if a.Ready {
			h.foreign.ready++
		}
	}
	switch {
	case was == nil:
	case h.foreign != nil:
		h.foreign.object, h.foreign.version, h.foreign.reported = was.object, was.version, was.reported
	case was.reported:
		// checkForeign will report that the object has no foreign addresses left.
		h.foreign = &foreign{object: was.object, reported: true}
	}
}

// keptBy describes the manager in the object's label. If the label is missing, it describes the field manager that
// wrote the object.
func keptBy(manager, writer string) string {
	switch {
	case manager != "":
		return fmt.Sprintf(" (managed by %s)", manager)
	case writer != "":
		return fmt.Sprintf(" (written by %s)", writer)
	}
	return ""
}

// checkForeign reports when an object of a Service gains its first foreign address or loses its last one. Without a
// selector, no address is foreign.
func (x *Writers) checkForeign(s Service, t time.Time) {
	for _, h := range s.Writers().sources {
		f := h.foreign
		if f == nil {
			continue
		}
		// If the selector matches no pods, manually managed Endpoints are reported as a selector conflict instead.
		is := s.Exists() && s.HasSelector() && len(f.addresses) > 0 && (h.Kind != event.KindEndpoints || !InConflict(s))
		switch {
		case is && !f.reported:
			x.losses.Report(s, transition.ForeignAddresses{
				At: at(t), Service: s.Named(), Object: f.object, Count: len(f.addresses), Ready: f.ready, Trigger: transition.Trigger(s.UID(), f.version),
			})
		case !is && f.reported:
			x.losses.Report(s, transition.ForeignAddressesEnded{At: at(t), Service: s.Named(), Object: f.object})
		}
		f.reported = is
		if len(f.addresses) == 0 {
			h.foreign = nil
		}
	}
}

// emptied reports whether Endpoints are empty although a user or an unknown client has written addresses to them.
func (x *Writers) emptied(o *event.Endpoints) bool {
	other := o.OtherWriter != "" && !x.known[o.OtherWriter] && !event.IsControllerManager(o.OtherWriter)
	return len(o.Addresses) == 0 && (o.LastApplied || other)
}

// IsForeign reports whether the Service has a selector and a foreign writer manages the source.
func IsForeign(s Service, h *Source) bool { return h.keeper == foreigner && s.HasSelector() }

// IsKnown reports whether the source has a known manager.
func (h *Source) IsKnown() bool { return h.keeper == knownManager }

// ForeignAddresses returns the number of distinct foreign addresses of a Service. It returns 0 for a Service without a
// selector, because no Kubernetes controller writes the addresses of such a Service.
func ForeignAddresses(s Service) int {
	if !s.HasSelector() {
		return 0
	}
	var all []event.UID
	for _, h := range s.Writers().sources {
		if h.foreign != nil {
			all = append(all, h.foreign.addresses...)
		}
	}
	slices.SortFunc(all, func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
	return len(slices.Compact(all))
}
