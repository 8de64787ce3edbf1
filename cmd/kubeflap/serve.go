package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"

	"github.com/kubeflap/kubeflap/exporter/web"
)

const (
	defaultAddress = ":9969"
	// drainTime is what scrapes that run at SIGTERM have to finish.
	drainTime = 5 * time.Second
)

func addWebFlags(cmd *kingpin.CmdClause) *toolkit.FlagConfig {
	return kingpinflag.AddFlags(cmd, defaultAddress)
}

// newRegistry makes a registry of what is to know of the process itself.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(version.NewCollector("kubeflap"), collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return registry
}

// pages are what is served.
type pages struct {
	registry *prometheus.Registry
	ready    func() bool
	clusters []web.Cluster
}

// serve serves the pages until ctx ends, then lets running scrapes finish.
func serve(ctx context.Context, p program, flags *toolkit.FlagConfig, pages pages) error {
	handler, err := web.Handler(pages.registry, pages.ready, pages.clusters, p.logger)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	drained := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), drainTime)
		defer cancel()
		drained <- server.Shutdown(ctx)
	})
	err = toolkit.ListenAndServe(server, flags, p.logger)
	if stop() || !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve on %v: %w", *flags.WebListenAddresses, err)
	}
	if err := <-drained; err != nil {
		return fmt.Errorf("let running requests finish: %w", err)
	}
	return nil
}
