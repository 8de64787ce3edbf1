package watch

import (
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// store implements a reflector's store, but keeps no objects. It emits an event for each object. The reflector never
// calls the methods of store concurrently.
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

// Add emits an event for an added object.
func (s *store) Add(object any) error { return s.watched(event.Added, object) }

// Update emits an event for a changed object.
func (s *store) Update(object any) error { return s.watched(event.Modified, object) }

// Delete emits an event with the last state of a deleted object.
func (s *store) Delete(object any) error { return s.watched(event.Deleted, object) }

// Bookmark records that the watch works. During a streamed list, the reflector uses a temporary store (cache.Reflector,
// watchList). The bookmark that ends such a list therefore does not reach this method.
func (s *store) Bookmark(string) error {
	s.alive()
	s.emit(event.Bookmark)
	return nil
}

// Replace emits events for a list. For a large resource, each object's event was already emitted when the object
// arrived.
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

// watched emits an event for an object that the watch delivered.
func (s *store) watched(what event.Type, object any) error {
	s.alive()
	s.pass(what, object)
	return nil
}

// pass emits an event for an object if the object belongs to the resource. The reflector accepts every object, because
// all objects have the type apiclient.Item.
func (s *store) pass(what event.Type, object any) {
	if i, ok := object.(*apiclient.Item); ok && s.resource.Has(i.Slim) {
		s.sink(event.Event{Seen: time.Now(), Kind: s.resource.Kind, Type: what, Object: i.Slim})
	}
}

func (s *store) emit(what event.Type) {
	s.sink(event.Event{Seen: time.Now(), Kind: s.resource.Kind, Type: what})
}
