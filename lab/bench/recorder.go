package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/steps"
)

const (
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
	// recordings is the pattern for the names of the flight recorder's files.
	recordings = "*.jsonl.gz"
)

// Recorded holds the costs of the flight recorder. Two kubeflap instances watched the same cluster at the same time.
// Only one of them ran with --data.dir.
type Recorded struct {
	Size     Size
	Duration time.Duration
	// List is the size of the recorded initial lists in bytes.
	List   float64
	Phases []RecorderPhase
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
func (r *running) sample(ctx context.Context, period time.Duration) (samples []Sample) {
	for last := r.usage(); poll.Sleep(ctx, period) == nil; {
		used := r.usage()
		samples = append(samples, Sample{Memory: used.rss, CPUPerMinute: (used.cpu - last.cpu) / used.at.Sub(last.at).Minutes()})
		last = used
	}
	return samples
}

// record compares kubeflap with and without --data.dir under three kinds of load. The first load has no events, the
// second has the events of a usual day, and the third has many flapping pods. Each load takes a third of the duration.
func (o *Options) record(ctx context.Context, size Size) Recorded {
	recorded := Recorded{Size: size, Duration: o.Recorder}
	dir := filepath.Join(o.dir, "data")
	steps.Must(os.Mkdir(dir, 0o700))
	o.withLoad(ctx, size, func(ctx context.Context, c *cluster.Cluster, l *load) {
		// start starts a kubeflap instance, and waits until it is synced.
		start := func(flags ...string) *running {
			r := kubeflapProgram(o.Kubeflap, flags...).start(c)
			if err := steps.Run(func() { r.untilSynced(ctx, size) }); err != nil {
				r.process.Stop()
				steps.Must(err)
			}
			return r
		}
		o.compareRecording(ctx, l, start, dir, &recorded)
	})
	return recorded
}

// compareRecording runs both kubeflap instances at the same time.
func (o *Options) compareRecording(ctx context.Context, l *load, start func(flags ...string) *running, dir string, recorded *Recorded) {
	without := start()
	defer without.process.Stop()
	with := start("--data.dir=" + dir)
	defer with.process.Stop()
	steps.Must(poll.Sleep(ctx, recorderFlush))
	recorded.List = recordedBytes(dir)
	events := []float64{0, rolloutEvents, flapEvents}
	for _, perSecond := range events {
		p := RecorderPhase{Name: "at rest"}
		if perSecond > 0 {
			p.Name = fmt.Sprintf("with %g events per second", perSecond)
		}
		before, lasts := recordedBytes(dir), recorded.Duration/time.Duration(len(events))
		ctx, stop := context.WithTimeout(ctx, lasts)
		group, ctx := errgroup.WithContext(ctx)
		group.Go(func() error { return l.flap(ctx, perSecond) })
		for samples, of := range map[*[]Sample]*running{&p.Without: without, &p.With: with} {
			group.Go(func() error { return steps.Run(func() { *samples = of.sample(ctx, lasts/samplePeriods) }) })
		}
		err := group.Wait()
		stop()
		steps.Must(err)
		p.Bytes = recordedBytes(dir) - before
		recorded.Phases = append(recorded.Phases, p)
	}
	steps.Must(with.process.Terminate(ctx))
}

// recordedBytes returns the total size of the recordings.
func recordedBytes(dir string) (total float64) {
	for _, path := range steps.Value(filepath.Glob(filepath.Join(dir, recordings))) {
		total += float64(steps.Value(os.Stat(path)).Size())
	}
	return total
}

func (r Recorded) write() {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Two kubeflap instances watched the same cluster for %s, one of them with `--data.dir`. Recording the initial lists takes up %s.\n\n",
		r.Size, model.Duration(r.Duration), bytesize(r.List))
	writeRow(&b, []string{"", "", "without", "with `--data.dir`", "difference"})
	writeRow(&b, []string{"---", "---", "---", "---", "---"})
	for _, p := range r.Phases {
		for _, v := range []struct {
			figure string
			unit   unit
			of     func(Sample) float64
		}{
			{"CPU per minute", seconds, func(s Sample) float64 { return s.CPUPerMinute }},
			{"Memory", mebibytes, func(s Sample) float64 { return s.Memory }},
		} {
			without, with := meanOf(p.Without, v.of), meanOf(p.With, v.of)
			writeRow(&b, []string{p.Name, v.figure, v.unit(without), v.unit(with), fmt.Sprintf("%s, %+.1f %%", v.unit(with-without), 100*(with-without)/without)})
		}
		writeRow(&b, []string{p.Name, "Recordings per node and day", "", bytesize(r.perNodeAndDay(p)), ""})
	}
	writePart(partRecorder, b.String())
}

// perNodeAndDay returns how many bytes kubeflap would record per node and day under this load, including the lists.
func (r Recorded) perNodeAndDay(p RecorderPhase) float64 {
	return (segments*r.List + p.Bytes*float64(24*time.Hour)/float64(r.Duration/time.Duration(len(r.Phases)))) / float64(r.Size.Nodes)
}

func meanOf(samples []Sample, of func(Sample) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	return mean(values)
}
