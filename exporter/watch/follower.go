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
	// passing is a lock. passPage holds this lock while it emits events.
	passing chan struct{}
	// current is the open watch, which Watcher.Reopen can end.
	current *atomic.Pointer[stream]

	// If watches keep ending right after they were opened, shortSince is the time at which the first of these watches
	// ended. Otherwise, it is zero.
	shortSince time.Time
	// delayNext is set if the back-off must delay the next watch.
	delayNext bool
	backoff   wait.Backoff
	// silent is the number of consecutive watches that failed with event.ReasonSilent.
	silent int
	// listStalled is set if the last watch became silent before its streamed list was complete.
	listStalled bool
	// probes is the number of consecutive watches with a short timeout (probeTimeouts) that ended normally but
	// delivered nothing.
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
