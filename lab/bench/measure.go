package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

const (
	// restFor and loadFor are the durations of the measurements at rest and under load.
	restFor, loadFor = time.Minute, time.Minute
	// loadEvents is the number of events per second under load.
	loadEvents = 500
	// settleFor is the pause after the start, after load, and between scrapes. During this pause, the program can collect
	// garbage.
	settleFor = time.Second
	// scrapes is the number of scrapes.
	scrapes = 20
	// samplePeriod is the interval at which memory is read. The result is the median of these values.
	samplePeriod = 250 * time.Millisecond
	// busyPause is the pause between scrapes under load. It is short, because a 99th percentile needs many scrapes.
	busyPause = 100 * time.Millisecond
	// flapTimeout limits the wait for the first flap under load.
	flapTimeout = time.Minute
	// eventsTimeout limits the wait for events that are still in transit.
	eventsTimeout = time.Minute
)

// measurement measures one program on a cluster whose Leases are being renewed.
type measurement struct {
	load    *load
	running *running
	scraper *scraper
	// before is the number of events that the load had written when the program was synced.
	before int64
	// leaseCPU is the CPU time per renewed Lease in seconds. It includes the CPU time for all other work at rest.
	leaseCPU float64
	figures  Figures
}

// measure starts a program, runs all measurements and stops the program.
func (o *Options) measure(ctx context.Context, c *cluster.Cluster, l *load, p program) Figures {
	r := p.start(c)
	defer r.process.Stop()
	m := &measurement{load: l, running: r, scraper: o.scraper, figures: Figures{}}
	err := steps.Run(func() {
		m.measureSync(ctx)
		m.measureRest(ctx)
		m.measureEvents(ctx)
		if p.metrics {
			m.measureBusyScrapes(ctx)
		}
		if p.name == Kubeflap {
			m.measureLatency(ctx)
		}
		if p.metrics {
			// Measure scrapes at the end, because the program takes some minutes to release the memory that its startup
			// needed.
			m.measureScrapes(ctx)
		}
		m.figures[PeakMemory] = r.usage().peak
		if !p.metrics {
			r.sawEvents(ctx, l.written()-m.before)
		}
	})
	if err != nil {
		steps.Must(fmt.Errorf("measure %s: %w", p.name, err))
	}
	return m.figures
}

func (m *measurement) measureSync(ctx context.Context) {
	used := m.running.untilSynced(ctx, m.load.size)
	m.before = m.load.written()
	m.figures[SyncedWall], m.figures[SyncedCPU] = used.at.Sub(m.running.began).Seconds(), used.cpu
}

func (m *measurement) settle(ctx context.Context) { steps.Must(poll.Sleep(ctx, settleFor)) }

func (m *measurement) measureRest(ctx context.Context) {
	m.settle(ctx)
	seen := m.observe(ctx, restFor)
	m.figures[RestCPU], m.figures[RestMemory] = seen.cpu/seen.took*60, seen.memory
	if seen.renewed > 0 {
		m.leaseCPU = seen.cpu / seen.renewed
	}
}

// observed holds a program's resource usage during some seconds.
type observed struct {
	// took and cpu are in seconds. memory is the median in bytes.
	took, cpu, memory float64
	// renewed and flapped are the numbers of events that the load has written.
	renewed, flapped float64
}

func (m *measurement) observe(ctx context.Context, d time.Duration) observed {
	renewed, flapped := m.load.renewed.Load(), m.load.flapped.Load()
	begin := m.running.usage()
	var rss []float64
	for {
		steps.Must(poll.Sleep(ctx, samplePeriod))
		now := m.running.usage()
		rss = append(rss, now.rss)
		if took := now.at.Sub(begin.at); took >= d {
			return observed{
				took: took.Seconds(), cpu: now.cpu - begin.cpu, memory: median(rss),
				renewed: float64(m.load.renewed.Load() - renewed), flapped: float64(m.load.flapped.Load() - flapped),
			}
		}
	}
}

// measureEvents measures the CPU time per flap event. It subtracts the CPU time for Lease renewals during the
// measurement. If no pod flapped, it measures again, because a slow disk can stop etcd for an entire measurement.
func (m *measurement) measureEvents(ctx context.Context) {
	var seen observed
	m.underLoad(ctx, func(ctx context.Context) {
		for begin := time.Now(); seen.flapped == 0; {
			if waited := time.Since(begin); waited > flapTimeout {
				steps.Must(fmt.Errorf("no pod has flapped in %s", waited.Round(time.Second)))
			}
			seen = m.observe(ctx, loadFor)
		}
	})
	m.figures[EventCPU] = (seen.cpu - m.leaseCPU*seen.renewed) / seen.flapped * 1000
	m.settle(ctx)
}

// underLoad makes pods flap while the function do runs.
func (m *measurement) underLoad(ctx context.Context, do func(context.Context)) {
	loading, stop := context.WithCancel(ctx)
	defer stop()
	group, groupCtx := errgroup.WithContext(loading)
	group.Go(func() error { return m.load.flap(loading, loadEvents) })
	group.Go(func() error {
		defer stop()
		return steps.Run(func() { do(groupCtx) })
	})
	steps.Must(group.Wait())
}

func (m *measurement) measureScrapes(ctx context.Context) {
	m.figures[Series] = m.running.series(ctx)
	var took, bytes, rss []float64
	for range scrapes {
		duration, size := m.scraper.scrape(m.running)
		m.settle(ctx)
		took, bytes, rss = append(took, duration.Seconds()), append(bytes, float64(size)), append(rss, m.running.usage().rss)
	}
	m.figures[Scraped], m.figures[ScrapedBytes], m.figures[SteadyMemory] = median(took), median(bytes), median(rss)
}

func (m *measurement) measureBusyScrapes(ctx context.Context) {
	var took []time.Duration
	m.underLoad(ctx, func(ctx context.Context) {
		for begin := time.Now(); time.Since(begin) < loadFor; steps.Must(poll.Sleep(ctx, busyPause)) {
			duration, _ := m.scraper.scrape(m.running)
			took = append(took, duration)
		}
	})
	m.figures[BusyMedian], m.figures[BusyP99] = median(inSeconds(took)), quantile(0.99, inSeconds(took))
	m.settle(ctx)
}

// sawEvents waits until the minimal API client has received at least 99 % of the written events. If it does not receive
// them, its figures are meaningless.
func (r *running) sawEvents(ctx context.Context, written int64) {
	steps.Must(poll.Until(ctx, eventsTimeout, "the events", func(context.Context) error {
		if err := r.process.Signal(syscall.SIGUSR1); err != nil {
			return err
		}
		output, err := os.ReadFile(r.process.LogPath)
		if err != nil {
			return err
		}
		lines := strings.Fields(string(output))
		events, err := strconv.ParseInt(lines[len(lines)-1], 10, 64)
		if err != nil {
			return fmt.Errorf("%s has not printed how many events it has seen: %w", r.name, err)
		}
		// When a reflector lists the objects again, it misses events.
		if float64(events) < 0.99*float64(written) {
			return fmt.Errorf("%s saw only %d of %d events", r.name, events, written)
		}
		return nil
	}))
}
