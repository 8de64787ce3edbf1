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

// foreign are the addresses of an object that are foreign if the Service has a selector.
type foreign struct {
	addresses []event.UID
	ready     int
	// object says which object it is, and who manages or wrote it. version is the resourceVersion with which the addresses came.
	object, version string
	// reported: beside the selector of its Service.
	reported bool
}

// inSlice notes who keeps a slice, and its foreign addresses: all, as one manager keeps the whole slice.
func (x *Writers) inSlice(h *Source, o *event.EndpointSlice) {
	switch {
	case h.Controlled, h.Mirrored:
		h.keeper = unproven
	case x.known[o.ManagedBy], event.IsSliceManager(o.ManagedBy):
		h.keeper = knownManager
	default:
		h.keeper = foreigner
	}
	var foreign []event.Address // most slices have none, and many addresses
	if h.keeper == foreigner {
		foreign = o.Addresses
	}
	h.noteForeign(foreign, func(*event.Address) bool { return true })
	if h.foreign != nil && h.foreign.object == "" {
		h.foreign.version, h.foreign.object = o.Version, "EndpointSlice "+o.Name+keptBy(o.ManagedBy, o.Writer)
	}
}

// inEndpoints notes who wrote Endpoints, and the foreign addresses in them: those that no controller made from a pod, and if another manager than
// before wrote them, those that the controller had not written, or had not written as ready. A distribution may have renamed the controller: so an
// unknown name alone proves nothing. before are the addresses until now.
func (x *Writers) inEndpoints(h *Source, o *event.Endpoints, before []addresses.Entry) {
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
		h.foreign.version, h.foreign.object = o.Version, nameOf(o)
	}
	h.noteWithdrawn(o)
}

// nameOf names Endpoints and who wrote them.
func nameOf(o *event.Endpoints) string { return "Endpoints " + o.Name + keptBy("", o.Writer) }

// keepOwn keeps the addresses that those who should had written until now.
func (h *Source) keepOwn(before []addresses.Entry) {
	h.own = map[event.UID]bool{}
	for _, a := range before {
		if h.foreign == nil || !slices.Contains(h.foreign.addresses, a.UID) {
			h.own[a.UID] = a.State == addresses.Ready
		}
	}
}

// keepForeign keeps the addresses that were reported as foreign until now.
func (h *Source) keepForeign() {
	h.were = nil
	if h.foreign != nil && h.foreign.reported {
		h.were = h.foreign.addresses
	}
}

// WereForeign are the addresses that had been reported as foreign when the source's newest event came.
func (h *Source) WereForeign() []event.UID { return h.were }

// ReportedForeign are the addresses of a Service that are reported as foreign.
func ReportedForeign(s Service) (all []event.UID) {
	for _, h := range s.Writers().sources {
		if h.foreign != nil && h.foreign.reported {
			all = append(all, h.foreign.addresses...)
		}
	}
	return all
}

// noteForeign notes the foreign addresses of an object.
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
		// The next check reports the end.
		h.foreign = &foreign{object: was.object, reported: true}
	}
}

// keptBy names who keeps an object: by its label, else by its field manager.
func keptBy(manager, writer string) string {
	switch {
	case manager != "":
		return fmt.Sprintf(" (managed by %s)", manager)
	case writer != "":
		return fmt.Sprintf(" (written by %s)", writer)
	}
	return ""
}

// checkForeign reports the objects that began or ceased to have foreign addresses beside the selector.
func (x *Writers) checkForeign(s Service, t time.Time) {
	for _, h := range s.Writers().sources {
		f := h.foreign
		if f == nil {
			continue
		}
		// Manual Endpoints of a selector that matches no pod are a conflict, which the Service's owner can resolve.
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

// emptied reports whether somebody applied addresses that are not there any more.
func (x *Writers) emptied(o *event.Endpoints) bool {
	other := o.OtherWriter != "" && !x.known[o.OtherWriter] && !event.IsControllerManager(o.OtherWriter)
	return len(o.Addresses) == 0 && (o.LastApplied || other)
}

// IsForeign reports whether the source is of a foreign writer beside a selector.
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
		if h.foreign != nil {
			all = append(all, h.foreign.addresses...)
		}
	}
	slices.SortFunc(all, func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
	return len(slices.Compact(all))
}
