package watch

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// askAgainAfter is how long a watch has to be down to make it worth while to ask for
	// the version again: a server that is upgraded is away for longer.
	askAgainAfter  = time.Minute
	requestTimeout = 10 * time.Second
)

// serverVersion knows which version the API server is.
type serverVersion struct {
	client rest.Interface
	log    *slog.Logger
	sink   func(event.Event)
	again  chan struct{}
	known  string
	asked  time.Time
}

// revived is told when a watch works again, and how long it did not.
func (s *serverVersion) revived(after time.Duration) {
	if after < askAgainAfter {
		return
	}
	select {
	case s.again <- struct{}{}:
	default: // already to be asked
	}
}

// run asks again whenever there is reason to.
func (s *serverVersion) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.again:
			// The six watches come back within seconds of each other.
			if time.Since(s.asked) >= askAgainAfter {
				s.read(ctx)
			}
		}
	}
}

// read asks for the version and, if it is news, sends it on. Without it only a default
// is less exact, so a failure is no reason to stop.
func (s *serverVersion) read(ctx context.Context) {
	s.asked = time.Now()
	v, err := s.ask(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("the API server does not tell its version", "err", err)
		}
		return
	}
	if v == s.known {
		return
	}
	s.known = v
	s.log.Info("watching a cluster", "version", v)
	s.sink(event.Event{
		Seen: time.Now(), Kind: event.KindCluster, Type: event.Listed, Object: &event.Cluster{Version: v},
	})
}

func (s *serverVersion) ask(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	raw, err := s.client.Get().AbsPath("/version").SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("get /version: %w", err)
	}
	var info version.Info
	if err := json.Unmarshal(raw, &info); err != nil {
		return "", fmt.Errorf("read /version: %w", err)
	}
	return info.GitVersion, nil
}
