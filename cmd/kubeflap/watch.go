package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/services"
)

func registerWatch(app *kingpin.Application) (string, command) {
	cmd := app.Command("watch", "Print the changes and incidents of a live cluster until interrupted. Needs a kubeconfig, but no kubeflap in the cluster.")
	cluster := addClusterFlags(cmd, watchedNamespace)
	flags := addTrackerFlags(cmd)
	return cmd.FullCommand(), func(p program) error {
		out := throughTerminal(p.out)
		defer out.close()
		terminal := newTerminal(out)
		pipeline := newPipeline(*flags, time.Now, terminal)
		watcher, err := newWatcher(p.logger, cluster, pipeline.apply)
		if err != nil {
			return err
		}
		watcher.FailFast = true
		group, ctx := errgroup.WithContext(p.ctx)
		group.Go(func() error { return pipeline.follow(ctx, watcher) })
		group.Go(func() error {
			if pipeline.waitForSync(ctx, p.logger) {
				pipeline.printInitialState(terminal)
			}
			return nil
		})
		err = group.Wait()
		pipeline.finish()
		return err
	}
}

// printInitialState prints the cluster's size and everything that is not ready. Afterwards, only changes are printed.
func (p *pipeline) printInitialState(t *terminal) {
	p.mu.Lock() // prevents the pipeline from printing
	defer p.mu.Unlock()
	now := p.now()
	t.printInitialState(now, p.tracker.Nodes(now, nil), p.tracker.Services(now, nil))
}

// printInitialState prints the size of the cluster and everything that is not ready.
func (t *terminal) printInitialState(now time.Time, nodes []nodes.Node, services []services.Service) {
	t.head(now)
	fmt.Fprintf(t.out, "Watching %s and %s. Times are UTC. Press Ctrl-C to stop.\n",
		phrase.Count(len(nodes), "node", "nodes"), phrase.Count(len(services), "Service", "Services"))
	var unready, down []string
	for _, n := range nodes {
		if n.Ready != event.StatusTrue {
			unready = append(unready, n.Name)
		}
	}
	for _, s := range services {
		if s.Ready == 0 && s.NotReady > 0 {
			down = append(down, s.Namespace+"/"+s.Name)
		}
	}
	printNames(t.out, "Not Ready now:", unready)
	printNames(t.out, "Without a ready address now:", down)
}

// maxNamed is the maximum number of names per line.
const maxNamed = 10

func printNames(out io.Writer, what string, names []string) {
	if len(names) == 0 {
		return
	}
	text := what + " " + strings.Join(names[:min(len(names), maxNamed)], ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	fmt.Fprintln(out, phrase.Line(text))
}
