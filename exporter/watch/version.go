package watch

import (
	"context"
	"log/slog"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// If a watch was down for at least minOutage, the API server's version is read again. An upgrade of the server takes
// longer than minOutage.
const minOutage = time.Minute

// serverVersion tracks the version of the API server.
type serverVersion struct {
	client *apiclient.Client
	log    *slog.Logger
	sink   func(event.Event)
	again  chan struct{}
	known  string
	readAt time.Time
}

// recovered is called after a watch was down. If the downtime was at least minOutage, recovered requests another read
// of the version.
func (s *serverVersion) recovered(after time.Duration) {
	if after < minOutage {
		return
	}
	select {
	case s.again <- struct{}{}:
	default: // a read is already pending
	}
}

// run waits for requests to read the version, and handles them until the context is canceled.
func (s *serverVersion) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.again:
			// Read the version only once, because all watches recover within seconds of each other.
			if time.Since(s.readAt) >= minOutage {
				s.read(ctx)
			}
		}
	}
}

// read gets the version from the API server, and emits it if it has changed. Errors are logged and otherwise ignored,
// because kubeflap works without the version.
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
