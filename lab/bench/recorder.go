package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

const (
	// recordingName is the name of the kubeflap instance that runs with --data.dir.
	recordingName = Kubeflap + ", recording"
	// recorderFull is the default of --data.size in bytes. recorderAge is the default of --data.age in days.
	recorderFull = 256 << 20
	recorderAge  = 14
	// recorderFlush is a pause in which the flight recorder writes to the disk at least once.
	recorderFlush = 3 * time.Second
	// rolloutEvents is the number of events per second if 30,000 pods are each replaced once per day. Each replacement
	// causes ten events.
	rolloutEvents = 3.5
	// flapEvents is the number of events per second from flapping pods.
	flapEvents = 30
	// samplePeriods is the number of samples under each kind of load.
	samplePeriods = 20
	// segments is the number of segments that the flight recorder begins per day, each with lists of all objects.
	segments = 12
	// recordings is the pattern for the names of the flight recorder's files. Each name begins with a time in the
	// format recordingStamp.
	recordings     = "*.jsonl.gz"
	recordingStamp = "20060102T150405.000000Z"
)

// Recorded holds the costs of the flight recorder. Two kubeflap instances watched the same cluster at the same time.
// Only one of them ran with --data.dir.
type Recorded struct {
	Size     Size
	Duration time.Duration
	// List is the size of the recorded initial lists in bytes.
	List   float64
	Phases []RecorderPhase
	// Without and With are kubeflap's startup times in seconds, without and with --data.dir. Full is the size, in
	// bytes, of the recordings in that directory.
	Without, With []float64
	Full          float64
}

// RecorderPhase compares the two kubeflap instances during one kind of load.
type RecorderPhase struct {
	Name          string
	Without, With []Sample
	// Bytes is the size of the recordings that were written during this load.
	Bytes float64
}

// Sample is one measurement of kubeflap.
type Sample struct {
	// Memory is the resident memory in bytes. CPUPerMinute is the CPU time per minute, in seconds.
	Memory, CPUPerMinute float64
}

// sample measures the program once per period, until the context ends.
func (r *running) sample(ctx context.Context, period time.Duration) (samples []Sample, err error) {
	last, err := r.usage()
	if err != nil {
		return nil, err
	}
	for poll.Sleep(ctx, period) == nil {
		used, err := r.usage()
		if err != nil {
			return nil, err
		}
		samples = append(samples, Sample{Memory: used.rss, CPUPerMinute: (used.cpu - last.cpu) / used.at.Sub(last.at).Minutes()})
		last = used
	}
	return samples, nil
}

// recorders are two kubeflap instances that watch the same cluster.
type recorders struct {
	options       Options
	cluster       *cluster.Cluster
	dir           string
	without, with *running
}

// record compares kubeflap with and without --data.dir under three kinds of load. The first load has no events, the
// second has the events of a usual day, and the third has many flapping pods. Each load takes a third of the duration
// d. At the end, record compares the startup times.
func (o Options) record(ctx context.Context, size Size, d time.Duration) (recorded Recorded, err error) {
	recorded.Size, recorded.Duration = size, d
	data, err := o.populated(ctx, size)
	if err != nil {
		return recorded, err
	}
	dir, err := os.MkdirTemp("", "kubeflap-bench-data-")
	if err != nil {
		return recorded, fmt.Errorf("create the data directory: %w", err)
	}
	defer os.RemoveAll(dir)
	err = withLoad(ctx, o.Log, size, data, func(ctx context.Context, c *cluster.Cluster, l *load) error {
		r := &recorders{options: o, cluster: c, dir: dir}
		if err := r.compare(ctx, l, &recorded); err != nil {
			return err
		}
		if recorded.Full, err = fill(dir); err != nil {
			return err
		}
		return r.starts(ctx, &recorded)
	})
	return recorded, err
}

// compare runs both kubeflap instances at the same time.
func (r *recorders) compare(ctx context.Context, l *load, recorded *Recorded) (err error) {
	if r.without, err = r.start(ctx, recorded.Size, false); err != nil {
		return err
	}
	defer r.without.process.Stop()
	if r.with, err = r.start(ctx, recorded.Size, true); err != nil {
		return err
	}
	defer r.with.process.Stop()
	if err := poll.Sleep(ctx, recorderFlush); err != nil {
		return err
	}
	if recorded.List, err = recordedBytes(r.dir); err != nil {
		return err
	}
	events := []float64{0, rolloutEvents, flapEvents}
	for _, perSecond := range events {
		p := RecorderPhase{Name: "at rest"}
		if perSecond > 0 {
			p.Name = fmt.Sprintf("with %g events per second", perSecond)
		}
		err := r.phase(ctx, recorded.Duration/time.Duration(len(events)), &p, func(ctx context.Context) error { return l.flap(ctx, perSecond) })
		if err != nil {
			return err
		}
		recorded.Phases = append(recorded.Phases, p)
	}
	return r.with.process.Terminate(ctx)
}

// start starts a kubeflap instance, and waits until it is synced.
func (r *recorders) start(ctx context.Context, size Size, recording bool) (*running, error) {
	p := newProgram(Kubeflap, binaries{kubeflap: r.options.Kubeflap})
	if recording {
		p.name = recordingName
		p.args = func(kubeconfig, address, telemetry string) []string {
			return append(kubeflapArgs(kubeconfig, address, telemetry), "--data.dir="+r.dir)
		}
	}
	started, err := p.start(r.cluster)
	if err != nil {
		return nil, err
	}
	if _, err := started.untilSynced(ctx, size); err != nil {
		started.process.Stop()
		return nil, err
	}
	return started, nil
}

// phase measures both kubeflap instances during a load.
func (r *recorders) phase(ctx context.Context, d time.Duration, p *RecorderPhase, load func(context.Context) error) error {
	before, err := recordedBytes(r.dir)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, d)
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return load(ctx) })
	for _, side := range []struct {
		of      *running
		samples *[]Sample
	}{{r.without, &p.Without}, {r.with, &p.With}} {
		group.Go(func() (err error) {
			*side.samples, err = side.of.sample(ctx, d/samplePeriods)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	after, err := recordedBytes(r.dir)
	p.Bytes = after - before
	return err
}

func (r *recorders) starts(ctx context.Context, recorded *Recorded) error {
	for range r.options.Runs {
		for _, side := range []struct {
			recording bool
			took      *[]float64
		}{{false, &recorded.Without}, {true, &recorded.With}} {
			began := time.Now()
			started, err := r.start(ctx, recorded.Size, side.recording)
			if err != nil {
				return err
			}
			*side.took = append(*side.took, time.Since(began).Seconds())
			if err := started.process.Terminate(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordedBytes returns the total size of the recordings.
func recordedBytes(dir string) (total float64, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, recordings))
	if err != nil {
		return 0, fmt.Errorf("find the recordings: %w", err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return 0, fmt.Errorf("measure a recording: %w", err)
		}
		total += float64(info.Size())
	}
	return total, nil
}

// fill copies the recordings in the directory until the directory has its maximum size or contains recordings of the
// maximum age. The times in the names of the copies are two hours apart. The result is the size of all recordings.
func fill(dir string) (total float64, err error) {
	paths, err := filepath.Glob(filepath.Join(dir, recordings))
	if err != nil {
		return 0, fmt.Errorf("find the recordings: %w", err)
	}
	size, err := recordedBytes(dir)
	if err != nil {
		return 0, err
	}
	for n := 1; float64(n+1)*size < recorderFull && n < recorderAge*segments; n++ {
		for _, path := range paths {
			stamp, rest, _ := strings.Cut(filepath.Base(path), "-")
			at, err := time.Parse(recordingStamp, stamp)
			if err != nil {
				return 0, fmt.Errorf("read the time of a recording: %w", err)
			}
			at = at.Add(-time.Duration(n) * 24 * time.Hour / segments)
			if err := copyFile(path, filepath.Join(dir, at.Format(recordingStamp)+"-"+rest)); err != nil {
				return 0, err
			}
		}
	}
	return recordedBytes(dir)
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("copy a recording: %w", err)
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("copy a recording: %w", err)
	}
	if _, err = io.Copy(target, source); err != nil {
		_ = target.Close()
		return fmt.Errorf("copy a recording: %w", err)
	}
	if err := target.Close(); err != nil {
		return fmt.Errorf("copy a recording: %w", err)
	}
	return nil
}
