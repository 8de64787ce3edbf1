package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/journal"
	"github.com/kubeflap/kubeflap/exporter/watch"
)

// dataFlags holds the flags of the flight recorder.
type dataFlags struct {
	dir  string
	size int64
	age  time.Duration
}

func addDataFlags(cmd *kingpin.CmdClause) *dataFlags {
	f := &dataFlags{}
	cmd.Flag("data.dir", "Directory in which kubeflap stores events and incidents. --data.age and --data.size limit the recordings of events. If not set, kubeflap stores nothing.").PlaceHolder("DIR").StringVar(&f.dir)
	addFlag(cmd, "data.size", "Maximum size of the recordings in --data.dir. The oldest are deleted first.", &f.size, parseSize).Default("256MiB")
	addFlag(cmd, "data.age", "Maximum age of the recordings in --data.dir.", &f.age, parsePositive).Default("14d")
	return f
}

// enablePersistence makes the pipeline record its events and resolved incidents in --data.dir, and replays what earlier
// processes recorded there. The caller must run the flight recorder and the journal.
func (f *dataFlags) enablePersistence(ctx context.Context, logger *slog.Logger, p *pipeline, watcher *watch.Watcher) (*flightrecorder.Recorder, error) {
	recorder, err := flightrecorder.New(flightrecorder.Settings{
		Dir: f.dir, Size: f.size, Age: f.age, List: watcher.List, Head: p.head,
	}, logger)
	if err != nil {
		return nil, err
	}
	if p.scope.Cluster, err = watcher.ClusterUID(ctx); err != nil {
		logger.Debug("cannot identify the cluster", "err", err)
	}
	found, err := findEarlier(ctx, f.dir, p.scope)
	if errors.Is(err, errOtherCluster) {
		err = cmp.Or(journal.SetAside(f.dir, p.started), err)
	}
	if err != nil {
		logger.Error("kubeflap starts without the history in --data.dir", "err", err)
	}
	p.journal = journal.Open(f.dir, p.settings.incidents, p.started, logger)
	if found != nil {
		p.resume(found, p.started, logger)
	}
	p.recorderStatus = recorder.Status
	if ctx.Err() == nil { // otherwise kubeflap stops, and may have replayed only a part
		p.record = recorder.Record
	}
	return recorder, nil
}
