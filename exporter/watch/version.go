package watch

import (
	"context"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// versionPeriod is the interval between reads of the API server's version, which changes with an upgrade.
const versionPeriod = 5 * time.Minute

// followVersion reads the version periodically until the context is canceled.
func (w *Watcher) followVersion(ctx context.Context, known string) {
	for sleep(ctx, versionPeriod) {
		known = w.readVersion(ctx, known)
	}
}

// readVersion gets the version from the API server, and emits it if it differs from the known one. Errors are logged
// and otherwise ignored, because kubeflap works without the version.
func (w *Watcher) readVersion(ctx context.Context, known string) string {
	version, err := w.client.Version(ctx)
	if err != nil {
		if ctx.Err() == nil {
			w.log.Warn("cannot read the version of the API server", "err", err)
		}
		return known
	}
	if version != known {
		w.log.Info("watching a cluster", "version", version)
		w.sink(event.Event{
			Seen: time.Now(), Kind: event.KindCluster, Type: event.Listed, Object: &event.Cluster{Version: version},
		})
	}
	return version
}
