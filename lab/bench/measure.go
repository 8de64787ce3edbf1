package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// Pace is how long and how often is measured.
type Pace struct {
	// Rest and Load are for how long a program is watched at rest and under load.
	Rest, Load time.Duration
	// Events is how many come in a second under load.
	Events float64
	// Settle is between what would disturb a measurement and the measurement, and between scrapes: as between Prometheus', garbage is collected then.
	Settle time.Duration
	// Scrapes are made of each kind, Probes for each time between an event and a scrape.
	Scrapes, Probes int
}

const (
	// samplePeriod is how often memory is read; the median counts.
	samplePeriod = 250 * time.Millisecond
	// busyPause makes enough scrapes for a p99 in the time of the load.
	busyPause = 100 * time.Millisecond
)

// measurement is that of one program on a cluster in which Leases are being renewed.
type measurement struct {
	pace    Pace
	cluster *cluster.Cluster
	load    *load
	running *running
	scraper *scraper
	// before is what the load had written when the program was synced.
	before int64
	// leaseCPU is what a renewed Lease costs, and all else that happens at rest meanwhile.
	leaseCPU float64
	figures  Figures
}

// measure starts a program, measures everything and stops it.
func (o Options) measure(ctx context.Context, c *cluster.Cluster, l *load, p program) (Figures, error) {
	r, err := p.start(c)
	if err != nil {
		return nil, err
	}
	defer r.process.Stop()
	m := &measurement{pace: o.Pace, cluster: c, load: l, running: r, scraper: o.scraper, figures: Figures{}}
	steps := []func(context.Context) error{m.sync, m.rest, m.events}
	if p.metrics {
		steps = append(steps, m.busy)
	}
	if p.name == Kubeflap {
		steps = append(steps, m.latency)
	}
	if p.metrics {
		// Last, because memory that the start took is given back only after minutes.
		steps = append(steps, m.scrapes)
	}
	steps = append(steps, m.peak)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("measure %s: %w", p.name, err)
		}
	}
	if !p.metrics {
		return m.figures, r.sawEvents(ctx, l.written()-m.before)
	}
	return m.figures, nil
}

func (m *measurement) sync(ctx context.Context) error {
	used, err := m.running.untilSynced(ctx, m.load.size)
	if err != nil {
		return err
	}
	m.before = m.load.written()
	m.figures[SyncedWall] = used.at.Sub(m.running.began).Seconds()
	m.figures[SyncedCPU], m.figures[SyncedPeak] = used.cpu, used.peak
	return nil
}

func (m *measurement) rest(ctx context.Context) error {
	if err := poll.Sleep(ctx, m.pace.Settle); err != nil {
		return err
	}
	seen, err := m.observe(ctx, m.pace.Rest)
	if err != nil {
		return err
	}
	m.figures[RestCPU], m.figures[RestMemory], m.figures[RestRate] = seen.cpu/seen.took*60, seen.memory, seen.renewed/seen.took
	if seen.renewed > 0 {
		m.leaseCPU = seen.cpu / seen.renewed
	}
	return nil
}

// observed is what was seen of a program for some seconds.
type observed struct {
	// took and cpu are in seconds, memory is the median in bytes.
	took, cpu, memory float64
	// renewed and flapped are how many events were written.
	renewed, flapped float64
}

func (m *measurement) observe(ctx context.Context, d time.Duration) (observed, error) {
	renewed, flapped := m.load.renewed.Load(), m.load.flapped.Load()
	begin, err := m.running.usage()
	if err != nil {
		return observed{}, err
	}
	var rss []float64
	for {
		if err := poll.Sleep(ctx, samplePeriod); err != nil {
			return observed{}, err
		}
		now, err := m.running.usage()
		if err != nil {
			return observed{}, err
		}
		rss = append(rss, now.rss)
		if took := now.at.Sub(begin.at); took >= d {
			return observed{
				took: took.Seconds(), cpu: now.cpu - begin.cpu, memory: median(rss),
				renewed: float64(m.load.renewed.Load() - renewed), flapped: float64(m.load.flapped.Load() - flapped),
			}, nil
		}
	}
}

// events measures what events cost beyond what the Leases do that are renewed meanwhile.
func (m *measurement) events(ctx context.Context) error {
	var seen observed
	_, err := m.underLoad(ctx, func(ctx context.Context) (err error) {
		seen, err = m.observe(ctx, m.pace.Load)
		return err
	})
	if err != nil {
		return err
	}
	if seen.flapped == 0 {
		return errors.New("no pod has flapped")
	}
	m.figures[EventRate] = seen.flapped / seen.took
	m.figures[EventCPU] = (seen.cpu - m.leaseCPU*seen.renewed) / seen.flapped * 1000
	return poll.Sleep(ctx, m.pace.Settle)
}

// underLoad does something while pods flap, and says how many events came in a second.
func (m *measurement) underLoad(ctx context.Context, do func(context.Context) error) (eventRate float64, err error) {
	loading, stop := context.WithCancel(ctx)
	defer stop()
	group, groupCtx := errgroup.WithContext(loading)
	begin, before := time.Now(), m.load.flapped.Load()
	group.Go(func() error { return m.load.flap(loading, m.pace.Events) })
	group.Go(func() error {
		defer stop()
		return do(groupCtx)
	})
	if err := group.Wait(); err != nil {
		return 0, err
	}
	return float64(m.load.flapped.Load()-before) / time.Since(begin).Seconds(), nil
}

func (m *measurement) scrapes(ctx context.Context) error {
	series, err := m.running.series(ctx)
	if err != nil {
		return err
	}
	m.figures[Series] = float64(series)
	var rss []float64
	for _, kind := range []struct {
		encoding         string
		took, cpu, bytes Figure
	}{{"", Scraped, ScrapedCPU, ScrapedBytes}, {"gzip", Gzipped, GzippedCPU, GzippedBytes}} {
		var took, cpu, bytes []float64
		for range m.pace.Scrapes {
			before, err1 := m.running.usage()
			duration, size, err2 := m.scraper.scrape(m.running, kind.encoding)
			after, err3 := m.running.usage()
			if err := errors.Join(err1, err2, err3, poll.Sleep(ctx, m.pace.Settle)); err != nil {
				return err
			}
			took, cpu, bytes = append(took, duration.Seconds()), append(cpu, after.cpu-before.cpu), append(bytes, float64(size))
			rss = append(rss, after.rss)
		}
		// The clock of CPU time ticks a hundred times a second: only the mean says more.
		m.figures[kind.took], m.figures[kind.cpu], m.figures[kind.bytes] = median(took), mean(cpu), median(bytes)
	}
	m.figures[SteadyMemory] = median(rss)
	return nil
}

// busy scrapes while events arrive.
func (m *measurement) busy(ctx context.Context) error {
	var took []time.Duration
	rate, err := m.underLoad(ctx, func(ctx context.Context) error {
		for begin := time.Now(); time.Since(begin) < m.pace.Load; {
			duration, _, err := m.scraper.scrape(m.running, "")
			if err != nil {
				return err
			}
			took = append(took, duration)
			if err := poll.Sleep(ctx, busyPause); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.figures[BusyRate] = rate
	m.figures[BusyMedian], m.figures[BusyP99] = median(inSeconds(took)), quantile(0.99, inSeconds(took))
	return poll.Sleep(ctx, m.pace.Settle)
}

func (m *measurement) peak(context.Context) error {
	used, err := m.running.usage()
	m.figures[PeakMemory] = used.peak
	return err
}

// sawEvents ends the floor and checks that as many events came as were written while it ran: else it has measured nothing.
func (r *running) sawEvents(ctx context.Context, written int64) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := r.process.Terminate(ctx); err != nil {
		return err
	}
	output, err := os.ReadFile(r.process.LogPath)
	if err != nil {
		return fmt.Errorf("read what the floor says: %w", err)
	}
	var events int64
	_, last, _ := strings.Cut(string(output), "synced\n")
	if _, err := fmt.Sscanf(last, "events %d", &events); err != nil {
		return fmt.Errorf("%s ended with %q: %w", r.name, last, err)
	}
	// The last ones were on their way.
	if float64(events) < 0.99*float64(written) {
		return fmt.Errorf("%s saw %d events of %d that were written", r.name, events, written)
	}
	return nil
}
