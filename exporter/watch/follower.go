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

// follower watches one resource with a reflector. It remembers how the most recent watches ended.
type follower struct {
	resource apiclient.Resource
	store    *store
	log      *slog.Logger
	health   health
	running  sync.WaitGroup
	// passing is a lock. The method passPage holds it while it emits events for the objects of a page.
	passing chan struct{}
	// current points to the open watch, so that Watcher.Reopen can end it.
	current *atomic.Pointer[stream]

	// shortSince is the start of the current series of watches that ended right after they were opened. It is zero if
	// the last watch lasted longer.
	shortSince time.Time
	// delayNext is set if the next watch must wait for the back-off.
	delayNext bool
	backoff   wait.Backoff
	// silent counts consecutive watches that failed with event.ReasonSilent.
	silent int
	// listStalled is set if the last watch became silent before its streamed list was complete.
	listStalled bool
	// probes counts consecutive probes (see probeTimeouts) that ended normally without an event or a bookmark.
	probes int
	// noBookmarks is set if the server ends watches at their timeout but sends no bookmarks.
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

// run watches the resource until the context is canceled or the permission is withdrawn. It returns after all of its
// goroutines have ended.
func (f *follower) run(ctx context.Context) {
	ctx, f.health.withdraw = context.WithCancel(ctx)
	defer f.health.withdraw()
	f.runReflector(ctx)
	f.running.Wait()
	f.passing <- struct{}{} // wait until passPage has returned
	<-f.passing
}
