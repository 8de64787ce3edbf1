package endpoints

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

type key struct{ namespace, name string }

// ownedKey identifies the Service that owns a slice, by the name in the slice's label and the UID in the slice's owner
// reference.
type ownedKey struct {
	key
	uid event.UID
}

// registry holds the Services by name.
type registry struct {
	byName map[key]*service
	// `others` contains the Services that kubeflap knows only as the owner of a slice. Such a Service has not been seen
	// yet, or has been replaced by another Service with the same name.
	others map[ownedKey]*service
	// `sorted` holds the Services, sorted by namespace and name. It is nil after a Service has been added or removed.
	sorted []*service
}

func newRegistry() registry {
	return registry{byName: map[key]*service{}, others: map[ownedKey]*service{}}
}

// getOrAdd returns the Service of a slice or an Endpoints object, and adds the Service if necessary. It finds the
// Service by the owner's UID if the object has an owner. A deleted Service and its successor with the same name can
// both have slices for a while.
func (r *registry) getOrAdd(k key, owner event.UID) *service {
	s := r.byName[k]
	if owner.IsZero() {
		if s == nil {
			s = newService(k, event.UID{})
			r.byName[k], r.sorted = s, nil
		}
		return s
	}
	if s != nil && s.uid == owner {
		return s
	}
	o := ownedKey{k, owner}
	if r.others[o] == nil {
		r.others[o] = newService(k, owner)
	}
	return r.others[o]
}

// adopt returns the Service with the given UID, and makes this Service the current one with the name k.
func (r *registry) adopt(k key, uid event.UID) *service {
	o := ownedKey{k, uid}
	s := r.others[o]
	if s == nil {
		s = newService(k, uid)
	}
	delete(r.others, o)
	r.byName[k], r.sorted = s, nil
	return s
}

// detach removes a slice or an Endpoints object from its Service. It also drops the Service if the Service does not
// exist and has no objects left.
func (r *registry) detach(h *source) {
	s := h.service
	i := slices.Index(s.sources, h)
	s.sources = slices.Delete(s.sources, i, i+1)
	s.writers.Detach(&h.Source)
	r.forgetIfGone(s)
}

// forgetIfGone drops a Service that does not exist and has no slices or Endpoints.
func (r *registry) forgetIfGone(s *service) {
	if s.exists || len(s.sources) > 0 {
		return
	}
	if r.byName[s.key] == s {
		delete(r.byName, s.key)
		r.sorted = nil
	}
	if o := (ownedKey{s.key, s.uid}); r.others[o] == s {
		delete(r.others, o)
	}
}

func (r *registry) inOrder() []*service {
	if r.sorted == nil {
		r.sorted = slices.SortedFunc(maps.Values(r.byName), func(a, b *service) int {
			return cmp.Or(strings.Compare(a.key.namespace, b.key.namespace), strings.Compare(a.key.name, b.key.name))
		})
	}
	return r.sorted
}

func (r *registry) each(do func(*service)) {
	for _, s := range r.byName {
		do(s)
	}
	for _, s := range r.others {
		do(s)
	}
}
