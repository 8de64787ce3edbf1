package watch

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// follower follows one resource: it has a reflector, and remembers how the last watches ended.
type follower struct {
	resource apiclient.Resource
	store    *store
	log      *slog.Logger
	health   health
	running  sync.WaitGroup
	// passing is full while a page of a list is passed on.
	passing chan struct{}
	// current is the open watch, for Watcher.Reopen.
	current *atomic.Pointer[stream]

	// shortSince is since when watches have ended right after they were opened, zero if the last one did not.
	shortSince time.Time
	// delayNext: the next watch waits for the back-off.
	delayNext bool
	backoff   wait.Backoff
	// silent counts the watches in a row that stayed silent.
	silent int
	// listStalled: the last watch stopped in the middle of a streamed list.
	listStalled bool
	// probes counts the probes in a row that ended in good order and brought nothing.
	probes int
	// noBookmarks: the server ends watches on time and sends no bookmarks.
	noBookmarks bool
}

func newFollower(resource apiclient.Resource, w *Watcher) *follower {
	log := w.log.With("resource", resource.Kind.String())
	f := &follower{
		resource: resource, log: log, passing: make(chan struct{}, 1), current: &w.streams[resource.Kind], backoff: retries(),
		health: health{kind: resource.Kind, log: log, sink: w.sink, recovered: w.version.recovered, reminders: &w.reminders},
	}
	f.store = &store{resource: &f.resource, sink: w.sink, alive: f.health.alive, synced: f.health.synced}
	return f
}

// run follows the resource until the context ends or the permission is withdrawn. It returns when all its goroutines have
// ended.
func (f *follower) run(ctx context.Context) {
	ctx, f.health.withdraw = context.WithCancel(ctx)
	defer f.health.withdraw()
	f.runReflector(ctx)
	f.running.Wait()
	f.passing <- struct{}{} // wait for the page that is passed on; after the end of the context there is no other
	<-f.passing
}
