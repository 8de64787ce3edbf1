package watch

import (
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// store is a reflector's store that keeps nothing. It passes each object on as an event. The reflector calls it
// sequentially.
type store struct {
	resource *apiclient.Resource
	sink     func(event.Event)
	// alive is called before each event and bookmark of the watch. synced is called after each list.
	alive, synced func()
}

var (
	_ cache.ReflectorStore         = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

// Add passes on an added object.
func (s *store) Add(object any) error { return s.watched(event.Added, object) }

// Update passes on a changed object.
func (s *store) Update(object any) error { return s.watched(event.Modified, object) }

// Delete passes on the last state of a deleted object.
func (s *store) Delete(object any) error { return s.watched(event.Deleted, object) }

// Bookmark records that the watch works. The bookmark that ends the initial list does not reach this store, because
// the reflector uses a temporary store during the list (cache.Reflector, watchList).
func (s *store) Bookmark(string) error {
	s.alive()
	s.emit(event.Bookmark)
	return nil
}

// Replace passes on a list. The objects of a large list were already passed on when they arrived.
func (s *store) Replace(objects []any, _ string) error {
	if !s.resource.Large {
		s.emit(event.Listing)
	}
	for _, object := range objects {
		s.pass(event.Listed, object)
	}
	s.emit(event.Synced)
	s.synced()
	return nil
}

// Resync does nothing, because a reflector without a resync period never calls it.
func (s *store) Resync() error { return nil }

// watched passes on an event of the watch.
func (s *store) watched(what event.Type, object any) error {
	s.alive()
	s.pass(what, object)
	return nil
}

// pass emits an event for an object, and ignores objects that do not belong to the resource. The reflector cannot
// distinguish the kinds, because every object is an apiclient.Item.
func (s *store) pass(what event.Type, object any) {
	if i, ok := object.(*apiclient.Item); ok && s.resource.Has(i.Slim) {
		s.sink(event.Event{Seen: time.Now(), Kind: s.resource.Kind, Type: what, Object: i.Slim})
	}
}

func (s *store) emit(what event.Type) {
	s.sink(event.Event{Seen: time.Now(), Kind: s.resource.Kind, Type: what})
}
