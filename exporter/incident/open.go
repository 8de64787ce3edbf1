package incident

import (
	"maps"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Open identifies something that has not recovered.
type Open struct {
	// Service is the affected Service. Of nodes and of objects, it holds only the name.
	Service transition.Service
	kind    openKind
	address event.UID
}

type openKind uint8

const (
	openNode openKind = iota + 1
	openAddress
	openOutage
	openForeign
	openWithdrawn
)

// OpenNode identifies a node that is silent or not Ready.
func OpenNode(name string) Open { return Open{kind: openNode, Service: transition.Service{Name: name}} }

// OpenAddress identifies an address that its Service lists as not ready.
func OpenAddress(x transition.Address) Open { return Open{x.Service, openAddress, x.ID} }

// OpenOutage identifies a Service without a ready address.
func OpenOutage(x transition.Service) Open { return Open{kind: openOutage, Service: x} }

// OpenForeign identifies an EndpointSlice or Endpoints that contain foreign addresses although the Service has a selector.
func OpenForeign(object string) Open {
	return Open{kind: openForeign, Service: transition.Service{Name: object}}
}

// OpenWithdrawn identifies Endpoints from which somebody removed pod addresses.
func OpenWithdrawn(object string) Open {
	return Open{kind: openWithdrawn, Service: transition.Service{Name: object}}
}

// OpenSet maps everything that has not recovered to the time at which it began.
type OpenSet map[Open]time.Time

// IsOutage reports whether a Service has no ready address, and returns this Service.
func (x Open) IsOutage() (service transition.Service, ok bool) {
	return x.Service, x.kind == openOutage
}

// has reports whether anything of a kind has not recovered.
func (o OpenSet) has(kind openKind) bool {
	for x := range o {
		if x.kind == kind {
			return true
		}
	}
	return false
}

// HasForeign reports whether the Service has foreign addresses.
func (o OpenSet) HasForeign() bool { return o.has(openForeign) }

// HasNode reports whether a node has not recovered.
func (o OpenSet) HasNode() bool { return o.has(openNode) }

// CloseObjects records that nobody waits any more for changes of foreign and withdrawn addresses.
func (o OpenSet) CloseObjects() {
	maps.DeleteFunc(o, func(x Open, _ time.Time) bool { return x.kind == openForeign || x.kind == openWithdrawn })
}

// LacksAddresses reports whether addresses that the endpoints controller removed are still missing. It returns false
// after the selector conflict has ended.
func (f *Facts) LacksAddresses() bool { return f.Removed && f.Conflict }

// Ongoing reports whether something has not recovered. A selector conflict alone does not count.
func (f *Facts) Ongoing() bool { return len(f.Open) > 0 || f.LacksAddresses() }

// FirstLost returns when the first of the addresses that are not ready was lost. It returns zero if all are ready.
func (o OpenSet) FirstLost() (first time.Time) {
	for x, since := range o {
		if x.kind == openAddress && (first.IsZero() || since.Before(first)) {
			first = since
		}
	}
	return first
}
