package track

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// vanished turns objects that were deleted unseen into Deleted events. A watch that breaks can miss deletions. The next
// list shows the objects that still exist, but does not mention the others.
type vanished struct {
	// `listing` is set while a list is in progress.
	listing [event.NumKinds]bool
	// byName contains the known objects of the resources whose objects replace earlier objects with the same name. The
	// packages that track the other resources know their objects.
	byName [event.NumKinds]map[name]*identity
}

type name struct{ namespace, name string }

// identity is the UID of an object. `seen` is true if the object has been seen since the last list began.
type identity struct {
	uid  event.UID
	seen bool
}

func isTrackedByName(k event.Kind) bool {
	return k == event.KindNode || k == event.KindLease || k == event.KindService || k == event.KindControlPlaneLease
}

// gone returns Deleted events for the objects whose deletion e reveals. The caller must apply them before e. They are
// sorted by name, or by UID if the names are not stored. The parameter earliest is the earliest possible time of these
// deletions.
//
// An object was deleted if another object now has its name. An object was also deleted if a complete list does not
// contain it. A list that breaks off reveals only the former.
func (t *parts) gone(e event.Event, earliest time.Time) []event.Event {
	var gone []event.Meta
	listing := &t.vanished.listing[e.Kind]
	switch e.Type {
	case event.Listing:
		*listing = true
		t.known(e.Kind, func(_ event.Meta, seen *bool) { *seen = false })
	case event.Down, event.Unavailable:
		*listing = false
	case event.Synced:
		if *listing {
			*listing = false
			gone = t.unlisted(e.Kind)
		}
	case event.Added, event.Modified, event.Listed, event.Deleted:
		if e.Object != nil && e.Object.Kind() == e.Kind && isTrackedByName(e.Kind) {
			gone = t.vanished.note(e)
		}
	}
	return deletions(gone, e, earliest)
}

// known calls a function for each known object of a resource. The value reports whether the object has been seen since the
// last list began.
func (t *parts) known(k event.Kind, do func(event.Meta, *bool)) {
	switch k {
	case event.KindPod:
		t.pods.Known(do)
	case event.KindEndpointSlice, event.KindEndpoints, event.KindDeployment, event.KindStatefulSet:
		t.services.Known(k, do)
	}
	for n, is := range t.vanished.byName[k] {
		do(event.Meta{UID: is.uid, Namespace: n.namespace, Name: n.name}, &is.seen)
	}
}

// note records an object, or its deletion. It returns the object that had the same name before, if any.
func (v *vanished) note(e event.Event) (replaced []event.Meta) {
	all, m := &v.byName[e.Kind], e.Object.Metadata()
	n := name{m.Namespace, m.Name}
	is := (*all)[n]
	switch {
	case e.Type == event.Deleted:
		if is != nil && is.uid == m.UID {
			delete(*all, n)
		}
		return nil
	case *all == nil:
		*all = map[name]*identity{}
	case is != nil && is.uid == m.UID:
		is.seen = true
		return nil
	case is != nil:
		replaced = []event.Meta{{UID: is.uid, Namespace: m.Namespace, Name: m.Name}}
	}
	(*all)[n] = &identity{m.UID, true}
	return replaced
}

// unlisted removes and returns the objects that the list did not contain.
func (t *parts) unlisted(k event.Kind) (gone []event.Meta) {
	t.known(k, func(m event.Meta, seen *bool) {
		if !*seen {
			gone = append(gone, m)
			delete(t.vanished.byName[k], name{m.Namespace, m.Name})
		}
	})
	slices.SortFunc(gone, func(a, b event.Meta) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), bytes.Compare(a.UID[:], b.UID[:]))
	})
	return gone
}

func deletions(gone []event.Meta, e event.Event, earliest time.Time) (all []event.Event) {
	for i := range gone {
		o := event.New(e.Kind)
		*o.Metadata() = gone[i]
		all = append(all, event.Event{Seen: e.Seen, Kind: e.Kind, Type: event.Deleted, Object: o, Earliest: earliest})
	}
	return all
}
