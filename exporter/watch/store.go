package watch

import (
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// store is the store of a reflector. It keeps nothing and passes each object on as an event. The reflector calls it
// sequentially.
type store struct {
	resource *apiclient.Resource
	sink     func(event.Event)
	// alive is called before each event and bookmark of the watch, synced after each list.
	alive, synced func()
}

var (
	_ cache.ReflectorStore         = (*store)(nil)
	_ cache.ReflectorBookmarkStore = (*store)(nil)
)

// Add passes on an object that appeared.
func (s *store) Add(object any) error { return s.watched(event.Added, object) }

// Update passes on an object that changed.
func (s *store) Update(object any) error { return s.watched(event.Modified, object) }

// Delete passes on the last state of an object that was deleted.
func (s *store) Delete(object any) error { return s.watched(event.Deleted, object) }

// Bookmark shows that the watch works. The bookmark that ends the initial list does not come here: during that list the
// reflector has another store (cache.Reflector, watchList).
func (s *store) Bookmark(string) error {
	s.alive()
	s.emit(event.Bookmark)
	return nil
}

// Replace passes on a list. The objects of a large list were passed on when they arrived.
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

// Resync does nothing. A reflector without a resync period does not call it.
func (s *store) Resync() error { return nil }

// watched passes on an event of the watch.
func (s *store) watched(what event.Type, object any) error {
	s.alive()
	s.pass(what, object)
	return nil
}

// pass ignores objects that do not belong to the resource. A reflector cannot tell the kinds apart, because all are an
// apiclient.Item.
func (s *store) pass(what event.Type, object any) {
	if i, ok := object.(*apiclient.Item); ok && s.resource.Has(i.Slim) {
		s.sink(event.Event{Seen: time.Now(), Kind: s.resource.Kind, Type: what, Object: i.Slim})
	}
}

func (s *store) emit(what event.Type) {
	s.sink(event.Event{Seen: time.Now(), Kind: s.resource.Kind, Type: what})
}
