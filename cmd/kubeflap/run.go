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
	listen := addWebFlags(cmd)
	probes := cmd.Flag("web.probe-address", "Another address, such as :9970, that serves only /-/healthy and /-/ready, always in plain HTTP. "+
		"It is for the kubelet, which cannot present the certificate or password that --web.config.file may require.").String()
	profiles := cmd.Flag("web.enable-pprof", "Serve the profiles of the Go runtime under /debug/pprof/. They show what is in memory: "+
		"enable them for a while, or behind a password.").Bool()
	return cmd.FullCommand(), func(p program) error {
		if err := checkWeb(listen); err != nil {
			return err
		}
		if !*profiles {
			runtime.MemProfileRate = 0 // heap profiling takes memory
		}
		pipeline := newPipeline(flags.settings(), time.Now, logReporter{p.logger})
		watcher, err := newWatcher(p.logger, cluster, pipeline.apply)
		if err != nil {
			return err
		}
		registry := newRegistry(p.log.droppedLines)
		page := metrics.NewPage(registry)
		page.Add(pipeline.collector, "")
		group, ctx := errgroup.WithContext(p.ctx)
		group.Go(func() error { return watcher.Run(ctx) })
		group.Go(func() error { return pipeline.tick(ctx) })
		group.Go(func() error { return checkLeases(ctx, pipeline.tracker, watcher) })
		group.Go(func() error {
			return serve(ctx, p, listen, web.Pages{
				Metrics: page, Registry: registry, Clusters: []web.Cluster{pipeline.cluster("")}, Unready: pipeline.unready, Profiles: *profiles,
			})
		})
		if *probes != "" {
			group.Go(func() error { return serveProbes(ctx, p, *probes, pipeline.unready) })
		}
		return group.Wait()
	}
}

// newWatcher returns a watcher of the chosen cluster, and logs which one that is.
func newWatcher(logger *slog.Logger, flags clusterFlags, sink func(event.Event)) (*watch.Watcher, error) {
	config, err := flags.load()
	if err != nil {
		return nil, err
	}
	logger.Info("kubeflap starts", "context", config.Context, "server", config.Host, "version", version.Info())
	watch.RedirectKlog(logger)
	return watch.New(config.Config, *flags.namespace, logger, sink)
}
