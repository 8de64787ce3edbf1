// Package writers tracks who writes Service addresses. A writer can be a Kubernetes controller, another known manager,
// a user who manages addresses manually, or an unknown client.
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

// Service lists the methods of a Service that this package calls.
type Service interface {
	losses.Service
	UID() event.UID
	HasSelector() bool
	Writers() *Set
}

// Set holds the writers of one Service's addresses. The zero value has no writers.
type Set struct {
	// sources describes the writers of the slices and Endpoints that contain the Service's addresses.
	sources []*Source
	// `managed` counts the addresses with a targetRef. Only controllers write a targetRef.
	managed int
	manual  manual
}

// Source describes the writers of one slice or Endpoints object.
type Source struct {
	Kind event.Kind
	// Mirrored is set for a slice that mirrors Endpoints. Controlled is set for a slice of the EndpointSlice
	// controller.
	Mirrored, Controlled bool

	// `writer` is a hash of the field manager that first wrote the addresses. If managerName writes the addresses
	// later, `writer` becomes a hash of managerName. `newest` is a hash of the field manager of the latest write, or 0
	// if unknown.
	writer, newest uint64
	// `manual` counts the addresses without a targetRef, and `managed` counts the addresses with a targetRef. `other`
	// is set for a slice that no Kubernetes controller manages.
	manual, managed int
	other           bool
	// version is the resourceVersion at which manually managed addresses appeared in Endpoints.
	version string
	// keeper is the kind of writer. `foreign` describes the addresses of a foreign writer, or is nil. These addresses
	// count as foreign only if the Service has a selector.
	keeper  keeper
	foreign *foreign
	// `own` contains the addresses that were in the Endpoints object before a foreign writer changed it. The value is
	// true if the address was ready. `own` is nil if the writer is not foreign.
	own map[event.UID]bool
	// withdrawn describes the addresses that a foreign writer removed or set to not ready, or is nil.
	withdrawn *withdrawn
	// wereForeign holds the addresses that had been reported as foreign before the newest event.
	wereForeign []event.UID
	// rivals holds the last writes by different writers to a Service without a selector, or is nil.
	rivals *rivals
	// overwritten is true for Endpoints that have been empty since they were first seen, although somebody had applied
	// addresses to them.
	overwritten bool
}

// OfSlice returns a Source for a slice.
func OfSlice() Source { return Source{Kind: event.KindEndpointSlice} }

// OfEndpoints returns a Source for an Endpoints object.
func OfEndpoints() Source { return Source{Kind: event.KindEndpoints, overwritten: true} }

const (
	// managerName is the field manager of the controllers that write slices and Endpoints, unless a distribution has
	// renamed it.
	managerName         = "kube-controller-manager"
	sliceController     = "endpointslice-controller.k8s.io"
	mirroringController = "endpointslicemirroring-controller.k8s.io"
)

// Writers detects resets, selector conflicts, and foreign or withdrawn addresses.
type Writers struct {
	watches *watches.Watches
	losses  *losses.Losses
	// `known` holds the managers that the operator configured.
	known map[string]bool
}

// New returns a Writers that trusts the given managers and the managers that event.IsSliceManager recognizes.
func New(watches *watches.Watches, losses *losses.Losses, known []string) *Writers {
	x := &Writers{watches: watches, losses: losses, known: map[string]bool{}}
	for _, name := range known {
		x.known[name] = true
	}
	return x
}

// SeeSlice records the controller or writer of a slice.
func (x *Writers) SeeSlice(s Service, h *Source, e event.Event, o *event.EndpointSlice, read event.Kind) {
	h.keepForeign()
	h.Mirrored, h.Controlled = o.ManagedBy == mirroringController, o.ManagedBy == sliceController
	x.compete(s, h, e, write{o.Writer, "EndpointSlice", o.Name, o.Addresses})
	noteWriter(s, h, e, o.Writer, read)
	x.classifySlice(h, o)
}

// SeeEndpoints records the writer of an Endpoints object. The parameter before holds the object's previous addresses.
func (x *Writers) SeeEndpoints(s Service, h *Source, e event.Event, o *event.Endpoints, before []addresses.Entry, read event.Kind) {
	h.keepForeign()
	x.compete(s, h, e, write{o.Writer, "Endpoints", o.Name, o.Addresses})
	noteWriter(s, h, e, o.Writer, read)
	x.classifyEndpoints(h, o, before)
	h.overwritten = h.overwritten && x.emptied(o)
}

// noteWriter records the writer of an object. If the writer changes to a name other than managerName, somebody has
// edited a controller's object. An edit is recorded only if address states are read from this kind of object.
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

// NoteLeaving records that a source is about to leave its Service. A deletion of the object is recorded if kubeflap saw
// it and address states are read from this kind of object.
func NoteLeaving(s Service, h *Source, e event.Event, read event.Kind) {
	h.keepForeign()
	switch {
	case e.Type != event.Deleted || e.IsInferred() || h.Kind != read:
	case h.Controlled:
		s.Ledger().SliceDeleted = e.Seen
	case h.keeper != knownManager:
		s.Ledger().Edited = e.Seen
	}
}

// NoteLeft records that a source has left its Service.
func (x *Writers) NoteLeft(s Service, h *Source, t time.Time) {
	if h.foreign != nil && h.foreign.reported {
		h.foreign.reported = false
		x.losses.Report(s, transition.ForeignAddressesEnded{At: at(t), Service: s.Named(), Object: h.foreign.object})
	}
	if h.withdrawn != nil && h.withdrawn.reported {
		h.withdrawn.reported = false
		x.losses.Report(s, transition.WithdrawnAddressesReturned{At: at(t), Service: s.Named(), Object: h.withdrawn.object})
	}
}

// Steady reports whether the latest write of each object came from the first writer of the object. It returns false if
// there are no objects. Slices that mirror Endpoints do not count, because they contain another object's addresses.
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

// Attach adds a source to the Service.
func (s *Set) Attach(h *Source) { s.sources = append(s.sources, h) }

// Detach removes a source from the Service.
func (s *Set) Detach(h *Source) {
	i := slices.Index(s.sources, h)
	s.sources = slices.Delete(s.sources, i, i+1)
}

// Subtract removes a source's addresses from the Service's counts.
func (s *Set) Subtract(h *Source) {
	s.managed -= h.managed
	*s.manual.counterFor(h) -= h.manual
}

// Add adds a source's addresses to the Service's counts.
func (s *Set) Add(h *Source) {
	s.managed += h.managed
	*s.manual.counterFor(h) += h.manual
	s.manual.cleared = s.manual.cleared && s.managed == 0
	s.manual.ever = s.manual.ever || s.manual.endpoints+s.manual.slices+s.manual.others > 0
}
