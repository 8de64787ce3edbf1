package endpoints

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/event"
)

type key struct{ namespace, name string }

// ownedKey is a Service as a slice names it: by its label and its owner's UID.
type ownedKey struct {
	key
	uid event.UID
}

// registry are the Services by name.
type registry struct {
	of map[key]*service
	// others are Services that only slices name, as their owner: not seen yet, or replaced by another of their name.
	others map[ownedKey]*service
	// sorted is by name; nil if a Service came or went since it was made.
	sorted []*service
}

func newRegistry() registry {
	return registry{of: map[key]*service{}, others: map[ownedKey]*service{}}
}

// owned is the Service that a slice or an Endpoints object belongs to: by the owner's UID if there is one, since a Service and its successor of the same
// name may both have slices for a while.
func (r *registry) owned(k key, owner event.UID) *service {
	s := r.of[k]
	if owner.IsZero() {
		if s == nil {
			s = newService(k, event.UID{})
			r.of[k], r.sorted = s, nil
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

// adopt makes the Service of a UID the one of its name.
func (r *registry) adopt(k key, uid event.UID) *service {
	o := ownedKey{k, uid}
	s := r.others[o]
	if s == nil {
		s = newService(k, uid)
	}
	delete(r.others, o)
	r.of[k], r.sorted = s, nil
	return s
}

// detach takes a source away from its Service. If that was the last object of a deleted Service, the Service is dropped.
func (r *registry) detach(h *source) {
	s := h.service
	i := slices.Index(s.sources, h)
	s.sources = slices.Delete(s.sources, i, i+1)
	s.writers.Detach(&h.Source)
	r.forgetIfGone(s)
}

// forgetIfGone drops a deleted Service that has no slices and no Endpoints any more.
func (r *registry) forgetIfGone(s *service) {
	if s.exists || len(s.sources) > 0 {
		return
	}
	if r.of[s.key] == s {
		delete(r.of, s.key)
		r.sorted = nil
	}
	if o := (ownedKey{s.key, s.uid}); r.others[o] == s {
		delete(r.others, o)
	}
}

// unlisted are the Services that the list of a generation did not show, by name.
func (r *registry) unlisted(generation uint32) []*service {
	return slices.DeleteFunc(slices.Clone(r.inOrder()), func(s *service) bool { return !s.exists || s.generation == generation })
}

func (r *registry) inOrder() []*service {
	if r.sorted == nil {
		r.sorted = slices.SortedFunc(maps.Values(r.of), func(a, b *service) int {
			return cmp.Or(strings.Compare(a.key.namespace, b.key.namespace), strings.Compare(a.key.name, b.key.name))
		})
	}
	return r.sorted
}

func (r *registry) each(do func(*service)) {
	for _, s := range r.of {
		do(s)
	}
	for _, s := range r.others {
		do(s)
	}
}
