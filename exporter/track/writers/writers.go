// Package writers follows who writes the addresses of Services: the controllers
// of Kubernetes, other managers that are known, people who manage addresses
// manually, and anybody else.
package writers

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Service is what writers ask of a Service.
type Service interface {
	losses.Service
	UID() event.UID
	HasSelector() bool
	Writers() *Set
}

// Set is what is known of the writers of one Service's addresses. The zero value knows nothing.
type Set struct {
	// sources hold its addresses.
	sources []*Source
	// managed counts the addresses with a targetRef, which only a controller writes.
	managed int
	manual  manual
}

// Source is what is known of the writers of one slice or Endpoints object.
type Source struct {
	Kind event.Kind
	// Mirrored: a slice that mirrors Endpoints. Controlled: a slice that the EndpointSlice controller keeps.
	Mirrored, Controlled bool

	// writer is a hash of the field manager that wrote the addresses when they were first seen.
	// newest is a hash of the one that wrote them last, 0 if that is not known.
	writer, newest uint64
	// manual counts the addresses without a targetRef, managed those with one. other: a slice that no controller of Kubernetes keeps.
	manual, managed int
	other           bool
	// version is the resourceVersion with which manually managed addresses came to Endpoints.
	version string
	// keeper writes the addresses. foreign are those that are foreign beside a selector; nil if there are none.
	keeper  keeper
	foreign *foreign
	// own are the addresses of Endpoints that a foreigner writes, as they were before, and whether each was ready; nil if nobody does.
	own map[event.UID]bool
	// withdrawn are those that the foreigner took out; nil if there are none.
	withdrawn *withdrawn
	// were are the addresses that had been reported as foreign when the newest event came.
	were []event.UID
	// rivals are who wrote the addresses of a Service without a selector; nil if only one did.
	rivals *rivals
	// overwritten: Endpoints that were empty when first seen, and still are, and to which somebody had applied addresses.
	overwritten bool
}

// OfSlice and OfEndpoints begin to follow the writers of an object.
func OfSlice() Source { return Source{Kind: event.KindEndpointSlice} }

// OfEndpoints is the same for an Endpoints object.
func OfEndpoints() Source { return Source{Kind: event.KindEndpoints, overwritten: true} }

const (
	// managerName is the field manager of the controllers that write slices and Endpoints, unless a distribution renamed it.
	managerName         = "kube-controller-manager"
	sliceController     = "endpointslice-controller.k8s.io"
	mirroringController = "endpointslicemirroring-controller.k8s.io"
)

// Writers finds resets, selector conflicts and foreign addresses.
type Writers struct {
	watches *watches.Watches
	losses  *losses.Losses
	// known are the managers that the operator named.
	known map[string]bool
}

// New makes writers that trust the known managers, besides those that event.IsSliceManager knows.
func New(watches *watches.Watches, losses *losses.Losses, known []string) *Writers {
	x := &Writers{watches: watches, losses: losses, known: map[string]bool{}}
	for _, name := range known {
		x.known[name] = true
	}
	return x
}

// SeeSlice records which controller or writer manages a slice.
func (x *Writers) SeeSlice(s Service, h *Source, e event.Event, o *event.EndpointSlice, read event.Kind) {
	h.keepForeign()
	h.Mirrored, h.Controlled = o.ManagedBy == mirroringController, o.ManagedBy == sliceController
	x.compete(s, h, e, write{o.Writer, "EndpointSlice", o.Name, o.Addresses})
	noteWriter(s, h, e, o.Writer, read)
	x.inSlice(h, o)
}

// SeeEndpoints records who wrote an Endpoints object. before are its addresses until now.
func (x *Writers) SeeEndpoints(s Service, h *Source, e event.Event, o *event.Endpoints, before []addresses.Entry, read event.Kind) {
	h.keepForeign()
	x.compete(s, h, e, write{o.Writer, "Endpoints", o.Name, o.Addresses})
	noteWriter(s, h, e, o.Writer, read)
	x.inEndpoints(h, o, before)
	h.overwritten = h.overwritten && x.emptied(o)
}

// noteWriter notes that somebody edits an object that a controller keeps: its writer changed. It matters in the resource that address states
// are read from. A placeholder without addresses has no writer. The controller itself, by its usual name, is no other writer.
func noteWriter(s Service, h *Source, e event.Event, writer string, read event.Kind) {
	h.newest = 0
	if writer == "" {
		return
	}
	is := event.Hash(writer)
	h.newest = is
	if h.writer != 0 && h.writer != is && writer != managerName && e.Type == event.Modified && h.Kind == read {
		s.Ledger().Edited = e.Seen
	}
	if h.writer == 0 || writer == managerName {
		h.writer = is
	}
}

// Leaves records that a source is about to leave its Service. This matters if the source was deleted and address states are read
// from its resource.
func Leaves(s Service, h *Source, e event.Event, read event.Kind) {
	h.keepForeign()
	switch {
	case e.Type != event.Deleted || h.Kind != read:
	case h.Controlled:
		s.Ledger().SliceDeleted = e.Seen
	case h.keeper != knownManager:
		s.Ledger().Edited = e.Seen
	}
}

// Left records that a source leaves its Service.
func (x *Writers) Left(s Service, h *Source, t time.Time) {
	if h.foreign != nil && h.foreign.reported {
		h.foreign.reported = false
		x.losses.Report(s, transition.ForeignAddressesEnded{At: at(t), Service: s.Named(), Object: h.foreign.object})
	}
	if h.withdrawn != nil && h.withdrawn.reported {
		h.withdrawn.reported = false
		x.losses.Report(s, transition.WithdrawnAddressesReturned{At: at(t), Service: s.Named(), Object: h.withdrawn.object})
	}
}

// Steady reports whether each object of the Service has been written by one manager since it was first seen. A mirror has the
// addresses of another object.
func (s *Set) Steady() bool {
	steady := false
	for _, h := range s.sources {
		switch {
		case h.Mirrored:
		case h.newest == 0 || h.newest != h.writer:
			return false
		default:
			steady = true
		}
	}
	return steady
}

// Attach makes a source one of the Service.
func (s *Set) Attach(h *Source) { s.sources = append(s.sources, h) }

// Detach takes a source away from the Service.
func (s *Set) Detach(h *Source) {
	i := slices.Index(s.sources, h)
	s.sources = slices.Delete(s.sources, i, i+1)
}

// Subtract takes a source's addresses out of the Service's counts; Add puts them in.
func (s *Set) Subtract(h *Source) {
	s.managed -= h.managed
	*s.manual.of(h) -= h.manual
}

// Add puts a source's addresses into the Service's counts.
func (s *Set) Add(h *Source) {
	s.managed += h.managed
	*s.manual.of(h) += h.manual
	s.manual.ever = s.manual.ever || s.manual.endpoints+s.manual.slices+s.manual.others > 0
}
