package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/journal"
	"github.com/kubeflap/kubeflap/exporter/watch"
)

// dataFlags holds the flags of the flight recorder.
type dataFlags struct {
	dir  *string
	size byteSize
	age  positiveDuration
}

func addDataFlags(cmd *kingpin.CmdClause) *dataFlags {
	f := &dataFlags{dir: cmd.Flag("data.dir", "Directory in which kubeflap stores events and incidents. --data.age and --data.size limit the recordings of events. If not set, kubeflap stores nothing.").PlaceHolder("DIR").String()}
	addFlag(cmd, "data.size", "Maximum size of the recordings in --data.dir. The oldest are deleted first.", "256MiB", &f.size)
	addFlag(cmd, "data.age", "Maximum age of the recordings in --data.dir.", "14d", &f.age)
	return f
}

// enablePersistence makes the pipeline record its events and resolved incidents in --data.dir, and replays what earlier
// processes recorded there. The caller must run the flight recorder and the journal.
func (f *dataFlags) enablePersistence(ctx context.Context, logger *slog.Logger, p *pipeline, watcher *watch.Watcher) (*flightrecorder.Recorder, error) {
	if f.age == 0 {
		return nil, errors.New("--data.age: must be more than 0s")
	}
	recorder, err := flightrecorder.New(flightrecorder.Settings{
		Dir: *f.dir, Size: int64(f.size), Age: time.Duration(f.age), List: watcher.List, Head: p.head,
	}, logger)
	if err != nil {
		return nil, err
	}
	if p.scope.Cluster, err = watcher.ClusterUID(ctx); err != nil {
		logger.Debug("cannot identify the cluster", "err", err)
	}
	found, err := findEarlier(ctx, *f.dir, p.scope)
	if errors.Is(err, errOtherCluster) {
		err = cmp.Or(journal.SetAside(*f.dir, p.started), err)
	}
	if err != nil {
		logger.Error("kubeflap starts without the history in --data.dir", "err", err)
	}
	p.journal = journal.Open(*f.dir, p.settings.incidents, p.started, logger)
	if found != nil {
		p.resume(found, p.started, logger)
	}
	p.recorderStatus = recorder.Status
	if ctx.Err() == nil { // otherwise kubeflap stops, and may have replayed only a part
		p.record = recorder.Record
	}
	return recorder, nil
}

// byteSize is a flag value for a number of bytes, such as 512MiB. The minimum is 1 MiB.
type byteSize int64

// Set implements kingpin.Value.
func (b *byteSize) Set(s string) error {
	parsed, err := units.ParseBase2Bytes(s)
	switch {
	case err != nil:
		return fmt.Errorf("%q is not a size such as 512MiB or 2GiB", s)
	case parsed < units.MiB:
		return fmt.Errorf("%q is less than 1MiB", s)
	}
	*b = byteSize(parsed)
	return nil
}

// String implements kingpin.Value.
func (b *byteSize) String() string { return units.Base2Bytes(*b).String() }
