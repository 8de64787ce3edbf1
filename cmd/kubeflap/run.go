package main

import (
	"log/slog"
	"runtime"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/version"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
	"github.com/kubeflap/kubeflap/exporter/web"
)

func registerRun(app *kingpin.Application) (string, command) {
	cmd := app.Command("run", "Watch a cluster and serve its metrics.").Default()
	cluster := addClusterFlags(cmd)
	house := addHouseFlags(cmd)
	listen := addWebFlags(cmd)
	probes := cmd.Flag("web.probe-address", "Another address, such as :9970, that answers /-/healthy and /-/ready and nothing else, always in plain HTTP: "+
		"for a kubelet, which cannot show the certificate or password that --web.config.file may ask for.").String()
	profiles := cmd.Flag("web.enable-pprof", "Serve the profiles of the Go runtime under /debug/pprof/. They show what is in memory: "+
		"for a while, or behind a password.").Bool()
	return cmd.FullCommand(), func(p program) error {
		if err := checkWeb(listen); err != nil {
			return err
		}
		if !*profiles {
			runtime.MemProfileRate = 0 // a profile of the heap takes memory, too
		}
		h := newHouse(house.parsed(), time.Now, logTo(p.logger))
		watcher, err := newWatcher(p.logger, cluster, h.fold.Apply)
		if err != nil {
			return err
		}
		registry := newRegistry(p.lines.droppedSoFar)
		page := metrics.NewPage(registry)
		page.Add(h.collector, "")
		p.logger.Info("kubeflap starts", "version", version.Info())
		group, ctx := errgroup.WithContext(p.ctx)
		group.Go(func() error { return watcher.Run(ctx) })
		group.Go(func() error { return h.letTimePass(ctx) })
		group.Go(func() error { return asker{h.fold, watcher}.run(ctx) })
		group.Go(func() error {
			return serve(ctx, p, listen, pages{page, registry, h.unready, []web.Cluster{h.cluster("")}, *profiles})
		})
		if *probes != "" {
			group.Go(func() error { return serveProbes(ctx, p, *probes, h.unready) })
		}
		return group.Wait()
	}
}

// clusterFlags say what to watch.
type clusterFlags struct{ kubeconfig, namespace *string }

func addClusterFlags(cmd *kingpin.CmdClause) clusterFlags {
	return clusterFlags{
		cmd.Flag("kubeconfig", "Path of a kubeconfig file. Without it $KUBECONFIG, then ~/.kube/config, then the service account of the pod.").
			String(),
		cmd.Flag("namespace", "Watch only this namespace, and nodes and their Leases if that is allowed. Needs no right in the whole cluster.").
			String(),
	}
}

func newWatcher(logger *slog.Logger, flags clusterFlags, sink func(event.Event)) (*watch.Watcher, error) {
	config, err := apiclient.LoadConfig(*flags.kubeconfig, "kubeflap/"+version.Version)
	if err != nil {
		return nil, err
	}
	watch.RedirectKlog(logger)
	return watch.New(config, *flags.namespace, logger, sink)
}

// logTo logs findings and incidents.
func logTo(logger *slog.Logger) listener { return listener{logFindings(logger), logIncident(logger)} }

// logIncident logs an incident's start and, with all that is to know, its end, or that it is not told.
func logIncident(logger *slog.Logger) func(incident.Notice) {
	return func(n incident.Notice) {
		x := &n.Incident
		about := []any{"id", x.ID, "cause", x.Cause, "scope", x.Scope, "namespace", x.Namespace, "subject", x.Subject, "start", stamp(x.Start)}
		what := "incident ended"
		switch n.Kind {
		case incident.Started, incident.Changed:
			logger.Info("incident: "+x.Summary, about...)
			return
		case incident.Joined:
			logger.Info("incident is part of another", append(about, "into", n.Into)...)
			return
		case incident.Dropped:
			what = "incident goes on but is not followed any more: newer ones take its place (--incidents.size)"
		case incident.GoesOn:
			what = "incident goes on"
		case incident.Ended:
			about = append(about, "end", stamp(x.End), "seconds", x.End.Sub(x.Start).Seconds())
		}
		logger.Info(what, append(about,
			"nodes", len(x.Nodes)+x.NodesLeftOut, "services", len(x.Services)+x.ServicesLeftOut, "addresses_lost", x.Lost,
			"outages", x.Outages, "outage_seconds", x.OutageTime.Seconds(), "summary", x.Summary, "remedy", x.Remedy)...)
	}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
