package watch

import (
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// store is what a reflector fills. It keeps nothing: each object goes on as an
// event. All calls for one resource come one after the other.
type store struct {
	resource
	sink func(event.Event)
	// sign is told before each event and bookmark of the watch, synced after each list.
	sign, synced func()
}

var (
	_ cache.TransformingStore      = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

// Add passes on an object that appeared.
func (s *store) Add(object any) error { return s.happened(event.Added, object) }

// Update passes on an object that changed.
func (s *store) Update(object any) error { return s.happened(event.Modified, object) }

// Delete passes on an object that is gone, in its last state.
func (s *store) Delete(object any) error { return s.happened(event.Deleted, object) }

// Bookmark says that the watch works. The bookmark that ends the initial list does not
// come here: the reflector gives that to its temporary store.
func (s *store) Bookmark(string) error {
	s.sign()
	s.say(event.Bookmark)
	return nil
}

// Replace passes on a list. What is in a large one went on as it came.
func (s *store) Replace(objects []any, _ string) error {
	if !s.large {
		s.say(event.Listing)
	}
	for _, object := range objects {
		_ = s.pass(event.Listed, object)
	}
	s.say(event.Synced)
	s.synced()
	return nil
}

// Resync does nothing; the reflector never asks for it without a resync period.
func (s *store) Resync() error { return nil }

// Transformer makes the temporary store, in which the reflector gathers an initial list
// (cache.Reflector, watchList), keep slim objects: the list is never in memory whole. The
// temporary store takes the key before it transforms (cache.cache, Add).
func (s *store) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if slim := slimmed(object); slim != nil {
			return slim, nil
		}
		return object, nil
	}
}

// happened passes on an event of the watch.
func (s *store) happened(what event.Type, object any) error {
	s.sign()
	return s.pass(what, object)
}

// pass ignores what is no object of the resource's kind: to the reflector all items are of one type.
func (s *store) pass(what event.Type, object any) error {
	if slim := slimmed(object); slim != nil && slim.Kind() == s.kind {
		s.sink(event.Event{Seen: time.Now(), Kind: s.kind, Type: what, Object: slim})
	}
	return nil
}

// slimmed is nil of anything else.
func slimmed(object any) event.Object {
	switch o := object.(type) {
	case *item:
		return o.slim
	case event.Object:
		return o
	}
	return nil
}

func (s *store) say(what event.Type) {
	s.sink(event.Event{Seen: time.Now(), Kind: s.kind, Type: what})
}
