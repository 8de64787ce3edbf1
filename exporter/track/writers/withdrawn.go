package writers

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// withdrawn is the record of ready addresses that a foreign writer removed from a controller's Endpoints, or set to not
// ready.
type withdrawn struct {
	count int
	// object is the name of the Endpoints object, with its writer. version is the resourceVersion of this object when
	// the addresses were removed.
	object, version string
	reported        bool
}

// noteWithdrawn counts the addresses that the controller wrote as ready and that are not ready now. The controller
// restores them only when a pod or the Service changes (see syncService in pkg/controller/endpoint). Truncated
// Endpoints are ignored, because they omit addresses.
func (h *Source) noteWithdrawn(o *event.Endpoints) {
	count := 0
	if h.own != nil && !o.Truncated {
		count = countMissing(h.own, o.Addresses)
	}
	switch was := h.withdrawn; {
	case was != nil:
		was.count = count
	case count > 0:
		h.withdrawn = &withdrawn{count: count, object: nameOf(o), version: o.ResourceVersion}
	}
}

func countMissing(own map[event.UID]bool, held []event.Address) (count int) {
	isReady := map[event.UID]bool{}
	for i := range held {
		if held[i].Ready {
			isReady[held[i].UID] = true
		}
	}
	for id, wasReady := range own {
		if wasReady && !isReady[id] {
			count++
		}
	}
	return count
}

// checkWithdrawn reports when addresses are withdrawn from Endpoints, and when all of them are back.
func (x *Writers) checkWithdrawn(s Service, t time.Time) {
	for _, h := range s.Writers().sources {
		w := h.withdrawn
		if w == nil {
			continue
		}
		is := s.Exists() && s.HasSelector() && w.count > 0
		switch {
		case is && !w.reported:
			x.losses.Report(s, transition.AddressesWithdrawn{
				At: at(t), Service: s.Named(), Object: w.object, Count: w.count, Trigger: transition.Trigger(s.UID(), w.version),
			})
		case !is && w.reported:
			x.losses.Report(s, transition.WithdrawnAddressesReturned{At: at(t), Service: s.Named(), Object: w.object})
		}
		w.reported = is
		if w.count == 0 {
			h.withdrawn = nil
		}
	}
}
