package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flap"
	"github.com/kubeflap/kubeflap/exporter/kube"
)

func registerRun(app *kingpin.Application) (string, command) {
	cmd := app.Command("run", "Watch a cluster and serve its metrics.").Default()
	kubeconfig := addKubeconfigFlag(cmd)
	fold := addFoldFlags(cmd)
	web := addWebFlags(cmd)
	return cmd.FullCommand(), func(p program) error {
		h := newHouse(fold.parsed(), time.Now, logFindings(p.logger))
		watcher, err := newWatcher(p.logger, *kubeconfig, h.fold.Apply)
		if err != nil {
			return err
		}
		registry := newRegistry()
		h.registerAs(registry, "")
		p.logger.Info("kubeflap starts", "version", version.Info())
		group, ctx := errgroup.WithContext(p.ctx)
		group.Go(func() error { return watcher.Run(ctx) })
		group.Go(func() error { return letTimePass(ctx, h.fold, time.Now) })
		group.Go(func() error { return serve(ctx, p, web, registry, h.fold.Synced) })
		return group.Wait()
	}
}

func addKubeconfigFlag(cmd *kingpin.CmdClause) *string {
	return cmd.Flag("kubeconfig", "Path of a kubeconfig file. Without it $KUBECONFIG, then ~/.kube/config, then the service account of the pod.").
		String()
}

func newWatcher(logger *slog.Logger, kubeconfig string, sink func(event.Event)) (*kube.Watcher, error) {
	config, err := kube.LoadConfig(kubeconfig, "kubeflap/"+version.Version)
	if err != nil {
		return nil, err
	}
	kube.RedirectKlog(logger)
	return kube.New(config, logger, sink)
}

// letTimePass lets the fold find what becomes late by the mere passing of time.
func letTimePass(ctx context.Context, fold *flap.Fold, now func() time.Time) error {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			fold.Advance(now())
		}
	}
}
