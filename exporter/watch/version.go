package watch

import (
	"context"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// minOutage is how long a watch must have been down before the version is read again. An upgrade of the server takes longer.
const minOutage = time.Minute

// serverVersion keeps the version of the API server up to date.
type serverVersion struct {
	client *apiclient.Client
	log    *slog.Logger
	sink   func(event.Event)
	again  chan struct{}
	known  string
	readAt time.Time
}

// recovered is called when a watch works again.
func (s *serverVersion) recovered(after time.Duration) {
	if after < minOutage {
		return
	}
	select {
	case s.again <- struct{}{}:
	default: // it is about to be read
	}
}

// run reads the version again after outages, until the context ends.
func (s *serverVersion) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.again:
			// The watches recover within seconds of each other.
			if time.Since(s.readAt) >= minOutage {
				s.read(ctx)
			}
		}
	}
}

// read reads the version and emits it if it is new. A failure is only logged: without the version, a default is less exact.
func (s *serverVersion) read(ctx context.Context) {
	s.readAt = time.Now()
	version, err := s.client.Version(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("cannot read the version of the API server", "err", err)
		}
		return
	}
	if version == s.known {
		return
	}
	s.known = version
	s.log.Info("watching a cluster", "version", version)
	s.sink(event.Event{
		Seen: time.Now(), Kind: event.KindCluster, Type: event.Listed, Object: &event.Cluster{Version: version},
	})
}
