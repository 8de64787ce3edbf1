package watch

import (
	"context"
	"errors"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

const (
	// maxSilence is the maximum time without an event or a bookmark. After this time, kubeflap lists the resource again.
	// Servers send each watch a bookmark about every minute (apiserver, cacher.defaultBookmarkFrequency), up to 3 s late.
	// The remaining time allows for a slow server.
	//
	// A server omits bookmarks while its watch cache has the same version as at the start of the watch
	// (cacheWatcher.process). This version advances with each event of the resource and with each progress notification
	// from etcd. Progress notifications arrive every 5 s if kubeadm configured etcd, otherwise every 10 minutes. The
	// watch cache also requests a notification before it serves a list that must be current. If a watch without a
	// bookmark delivers nothing for quietTicks ticks, kubeflap therefore requests such a list. An event is not enough: a
	// watch that resumes first delivers what it missed, and this does not advance the version.
	maxSilence = 90 * time.Second
	// silenceTicks is the number of timer ticks in maxSilence. After quietTicks ticks, kubeflap requests progress.
	silenceTicks = 6
	quietTicks   = 3
)

var errSilent = errors.New("received neither an event nor a bookmark for " + maxSilence.String())

// mustRelist reports whether a watch cannot resume at its resourceVersion, or would probably be silent again. Denied
// access is temporary, because a server rejects users at startup until it has read the RBAC rules
// (plugin/pkg/auth/authorizer/rbac). A 404 is temporary, because a proxy responds with 404 if its server is down.
func mustRelist(err error) bool {
	switch reasonOf(err) {
	case event.ReasonExpired, event.ReasonOther, event.ReasonSilent:
		return true
	}
	return false
}

// silence counts a tick without an event. It returns an error if maxSilence is reached.
func (w *openWatch) silence(ctx context.Context) error {
	w.quiet++
	if w.quiet == quietTicks && !w.bookmarked {
		w.running.Go(func() { w.requestProgress(ctx) })
	}
	if w.quiet < silenceTicks {
		return nil
	}
	return errSilent
}

// requestProgress requests a list that must be current. To serve this list, the server's watch cache requests a
// progress notification from etcd (apiserver, watchCache.waitAndListConsistent, since v1.31). The list itself is not
// used.
func (w *openWatch) requestProgress(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, apiclient.Timeout)
	defer cancel()
	if _, err := w.resource.CurrentVersion(ctx); err != nil {
		w.log.Debug("the watch is silent and listing failed", "err", err)
	}
}
