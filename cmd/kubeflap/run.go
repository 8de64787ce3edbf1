package main

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/web"
)

func registerRun(app *kingpin.Application) (string, command) {
	cmd := app.Command("run", "Watch a cluster and serve its metrics.")
	cluster := addClusterFlags(cmd, watchedNamespace)
	flags := addPipelineFlags(cmd)
	data := addDataFlags(cmd)
	listen := addWebFlags(cmd)
	probes := cmd.Flag("web.probe-address", "Additional address, such as :9970, that only serves /-/healthy and /-/ready, always over plain HTTP. "+
		"It is for the kubelet, which cannot present the certificate or password that --web.config.file may require.").String()
	profiles := cmd.Flag("web.enable-pprof", "Serve Go runtime profiles under /debug/pprof/. They reveal memory contents, so "+
		"enable them only temporarily or behind a password.").Bool()
	newHandler := addDownloads(cmd, data.dir, listen)
	return cmd.FullCommand(), func(p program) error {
		if err := checkWeb(listen); err != nil {
			return err
		}
		recordings, err := newHandler(p.logger)
		if err != nil {
			return err
		}
		if !*profiles {
			runtime.MemProfileRate = 0 // heap profiling would use memory
		}
		pipeline := newPipeline(*flags, time.Now, logReporter{p.logger})
		registry := newRegistry(p.log.droppedLines)
		group, ctx := errgroup.WithContext(p.ctx)
		watcher, err := newWatcher(p.logger, cluster, pipeline.apply)
		if err != nil {
			return err
		}
		if *data.dir != "" {
			pipeline.scope.Namespace = *cluster.namespace
			recorder, err := data.enablePersistence(ctx, p.logger, pipeline, watcher)
			if err != nil {
				return err
			}
			registry.MustRegister(metrics.NewFlightRecorder(recorder.Status))
			group.Go(func() error { return recorder.Run(ctx) })
			group.Go(func() error { return pipeline.journal.Run(ctx) })
		}
		page := metrics.NewPage(registry)
		page.Add(pipeline.collector, "")
		group.Go(func() error { return watcher.Run(ctx) })
		group.Go(func() error { return pipeline.runTicker(ctx) })
		group.Go(func() error { return checkLeases(ctx, pipeline.tracker, watcher) })
		pages := web.Pages{Metrics: page, Registry: registry, Unready: pipeline.unready, Profiles: *profiles, Recordings: recordings}
		pages.Clusters = []web.Cluster{pipeline.cluster("")}
		group.Go(func() error { return serve(ctx, p, listen, pages) })
		group.Go(func() error { return serveProbes(ctx, p, *probes, pipeline.unready) })
		return group.Wait()
	}
}

// newWatcher returns a watcher for the selected cluster, and logs the cluster.
func newWatcher(logger *slog.Logger, flags clusterFlags, sink func(event.Event)) (*watch.Watcher, error) {
	config, err := flags.load()
	if err != nil {
		return nil, err
	}
	logger.Info("starting kubeflap", "context", config.Context, "server", config.Host, "version", version.Info())
	watch.RedirectKlog(logger)
	return watch.New(config.Config, *flags.namespace, logger, sink)
}
