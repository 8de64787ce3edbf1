package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/fetch"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// startup is the duration of the CPU profile from the start. It is longer than kubeflap needs until it is synced.
const startup = 30

// profile writes heap profiles and CPU profiles of kubeflap to a directory. The CPU profiles cover the startup, the
// handling of events under load, and continuous scrapes.
func (o *Options) profile(ctx context.Context, size Size) {
	o.withLoad(ctx, size, func(ctx context.Context, c *cluster.Cluster, l *load) {
		r := kubeflapProgram(o.Kubeflap, "--web.enable-pprof").start(c)
		defer r.process.Stop()
		keep := func(ctx context.Context, name, path string) {
			steps.Must(poll.Until(ctx, syncTimeout, "the profile "+name, func(ctx context.Context) error {
				profile, err := fetch.Body(ctx, r.url+"/debug/pprof/"+path)
				if err != nil {
					return err
				}
				return os.WriteFile(filepath.Join(o.Profiles, size.Name+"-"+name+".pprof"), profile, 0o644)
			}))
		}
		keep(ctx, "sync", fmt.Sprintf("profile?seconds=%d", startup))
		r.untilSynced(ctx, size)
		keep(ctx, "heap", "heap?gc=1")
		m := &measurement{pace: o.Pace, load: l, running: r, scraper: o.scraper}
		cpu := fmt.Sprintf("profile?seconds=%.0f", max(1, o.Pace.Load.Seconds()))
		m.underLoad(ctx, func(ctx context.Context) { keep(ctx, "events", cpu) })
		m.whileScraped(ctx, func(ctx context.Context) { keep(ctx, "scrapes", cpu) })
		keep(ctx, "heap-scraped", "heap?gc=1")
	})
}

// whileScraped runs the function do. In the meantime, it scrapes the program without pauses.
func (m *measurement) whileScraped(ctx context.Context, do func(context.Context)) {
	scraping, stop := context.WithCancel(ctx)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return steps.Run(func() {
			for scraping.Err() == nil {
				m.scraper.scrape(m.running, "")
			}
		})
	})
	group.Go(func() error {
		defer stop()
		return steps.Run(func() { do(ctx) })
	})
	steps.Must(group.Wait())
}
