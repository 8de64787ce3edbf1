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
type vanished [event.NumKinds]existing

// existing holds the known objects of one resource.
type existing struct {
	// listing is set while a list is in progress.
	listing bool
	// byUID and byName contain the known objects. byName replaces byUID for resources whose objects are tracked by name.
	// The value of byUID is true if the object has been seen since the last list began.
	byUID  map[event.UID]bool
	byName map[name]identity
}

type name struct{ namespace, name string }

// identity is the UID of an object. `seen` is true if the object has been seen since the last list began.
type identity struct {
	uid  event.UID
	seen bool
}

func newVanished() *vanished {
	v := &vanished{}
	for k := range v {
		v[k] = existing{byUID: map[event.UID]bool{}, byName: map[name]identity{}}
	}
	return v
}

// isTrackedByName reports whether an object of the given kind replaces an earlier object with the same name. The names of
// all other objects are not stored, to save memory.
func isTrackedByName(k event.Kind) bool {
	return k == event.KindNode || k == event.KindLease || k == event.KindService || k == event.KindControlPlaneLease
}

// before returns Deleted events for the objects whose deletion e reveals. The caller must apply them before e. They are
// sorted by name, or by UID if the names are not stored. The parameter earliest is the earliest possible time of these
// deletions.
//
// An object was deleted if another object now has its name. An object was also deleted if a complete list does not
// contain it. A list that breaks off reveals only the former.
func (v *vanished) before(e event.Event, earliest time.Time) []event.Event {
	o := &v[e.Kind]
	var gone []event.Meta
	switch e.Type {
	case event.Listing:
		o.beginList()
	case event.Down, event.Unavailable:
		o.listing = false
	case event.Synced:
		if o.listing {
			o.listing = false
			gone = o.unlisted()
		}
	case event.Added, event.Modified, event.Listed, event.Deleted:
		if e.Object != nil && e.Object.Kind() == e.Kind && e.Kind != event.KindCluster {
			gone = o.note(e.Object.Metadata(), e)
		}
	}
	return deletions(gone, e, earliest)
}

func (o *existing) beginList() {
	o.listing = true
	for id := range o.byUID {
		o.byUID[id] = false
	}
	for n, is := range o.byName {
		o.byName[n] = identity{uid: is.uid}
	}
}

// note records an object, or its deletion. It returns the object that had the same name before, if any.
func (o *existing) note(m *event.Meta, e event.Event) []event.Meta {
	deleted := e.Type == event.Deleted
	if !isTrackedByName(e.Kind) {
		o.noteUID(m.UID, deleted)
		return nil
	}
	n, is := name{m.Namespace, m.Name}, identity{m.UID, true}
	before, known := o.byName[n]
	switch {
	case deleted && before.uid == m.UID:
		delete(o.byName, n)
	case !deleted && before != is:
		o.byName[n] = is
	}
	if deleted || !known || before.uid == m.UID {
		return nil
	}
	return []event.Meta{{UID: before.uid, Namespace: m.Namespace, Name: m.Name}}
}

func (o *existing) noteUID(id event.UID, deleted bool) {
	switch {
	case deleted:
		delete(o.byUID, id)
	case !o.byUID[id]:
		o.byUID[id] = true
	}
}

// unlisted removes and returns the objects that the list did not contain.
func (o *existing) unlisted() (gone []event.Meta) {
	for id, seen := range o.byUID {
		if !seen {
			gone = append(gone, event.Meta{UID: id})
			delete(o.byUID, id)
		}
	}
	for n, is := range o.byName {
		if !is.seen {
			gone = append(gone, event.Meta{UID: is.uid, Namespace: n.namespace, Name: n.name})
			delete(o.byName, n)
		}
	}
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
