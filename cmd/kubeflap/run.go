package main

import (
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/version"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/web"
)

// runner holds the flags of the run command.
type runner struct {
	cluster             *clusterFlags
	settings            *settings
	data                *dataFlags
	listen              *toolkit.FlagConfig
	probes              string
	profiles, downloads bool
}

func registerRun(app *kingpin.Application) (string, command) {
	cmd := app.Command("run", "Watch a cluster and serve its metrics.")
	r := &runner{cluster: addClusterFlags(cmd, watchedNamespace), settings: addPipelineFlags(cmd), data: addDataFlags(cmd), listen: kingpinflag.AddFlags(cmd, defaultAddress)}
	cmd.Flag("web.probe-address", "Additional address, such as :9970, that only serves /-/healthy and /-/ready, always over plain HTTP. "+
		"It is for the kubelet, which cannot present the certificate or password that --web.config.file may require.").StringVar(&r.probes)
	cmd.Flag("web.enable-pprof", "Serve Go runtime profiles under /debug/pprof/. They reveal memory contents, so "+
		"enable them only temporarily or behind a password.").BoolVar(&r.profiles)
	cmd.Flag(enableRecordings, "Serve the recordings in --data.dir at /api/v1/recording. They show the whole cluster, so "+
		"--web.config.file must require a password or a client certificate.").BoolVar(&r.downloads)
	return cmd.FullCommand(), r.run
}

func (r *runner) run(p program) error {
	if err := checkWeb(r.listen); err != nil {
		return err
	}
	var recordings http.Handler
	if r.downloads {
		var err error
		if recordings, err = newDownloadHandler(r.data.dir, r.listen, p.logger); err != nil {
			return err
		}
	}
	if !r.profiles {
		runtime.MemProfileRate = 0 // heap profiling would use memory
	}
	r.settings.tracker.Namespaced = r.cluster.namespace != ""
	pipeline := newPipeline(*r.settings, time.Now, logReporter{p.logger})
	registry := prometheus.NewRegistry()
	registerProcess(registry, "")
	group, ctx := errgroup.WithContext(p.ctx)
	watcher, err := newWatcher(p.logger, r.cluster, pipeline.apply)
	if err != nil {
		return err
	}
	// The kubelet must not kill kubeflap during a long replay, because the next one would be as long.
	replayed := make(chan struct{})
	unready := unreadyUntil(replayed, pipeline)
	group.Go(func() error { return serveProbes(ctx, p, r.probes, unready) })
	if r.data.dir != "" {
		pipeline.scope.Namespace = r.cluster.namespace
		recorder, err := r.data.enablePersistence(ctx, p.logger, pipeline, watcher)
		if err != nil {
			return err
		}
		registry.MustRegister(metrics.NewFlightRecorder(recorder.Status))
		group.Go(func() error { return recorder.Run(ctx) })
		group.Go(func() error { return pipeline.journal.Run(ctx) })
	}
	close(replayed)
	page := metrics.NewPage(registry)
	page.Add(pipeline.collector, "")
	group.Go(func() error { return pipeline.follow(ctx, watcher) })
	pages := web.Pages{Metrics: page, Unready: pipeline.unready, Profiles: r.profiles, Recordings: recordings}
	pages.Clusters = []web.Cluster{pipeline.cluster()}
	group.Go(func() error { return serve(ctx, p, r.listen, pages, nil) })
	return group.Wait()
}

// unreadyUntil returns a function like p.unready. Until the channel is closed, it returns what is not ready now.
func unreadyUntil(replayed <-chan struct{}, p *pipeline) func() []watches.Watch {
	before := p.unready()
	return func() []watches.Watch {
		select {
		case <-replayed:
			return p.unready()
		default:
			return before
		}
	}
}

// newWatcher returns a watcher for the selected cluster, and logs the cluster.
func newWatcher(logger *slog.Logger, flags *clusterFlags, sink func(event.Event)) (*watch.Watcher, error) {
	config, err := flags.load()
	if err != nil {
		return nil, err
	}
	logger.Info("starting kubeflap", "context", config.Context, "server", config.Host, "version", version.Info())
	watch.RedirectKlog(logger)
	return watch.New(config.Config, config.Host+" (context "+config.Context+")", flags.namespace, logger, sink)
}
