package main

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"

	"github.com/kubeflap/kubeflap/exporter/coverage"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/whatif/background"
)

// dataFlags holds the flags of the flight recorder.
type dataFlags struct {
	dir       *string
	size      byteSize
	age       positiveDuration
	anonymise *bool
}

func addDataFlags(cmd *kingpin.CmdClause) *dataFlags {
	f := &dataFlags{dir: cmd.Flag("data.dir", "Directory in which kubeflap stores events and incidents. --data.age and --data.size limit the recordings of events. If not set, kubeflap stores nothing.").PlaceHolder("DIR").String()}
	addFlag(cmd, "data.size", "Maximum size of the recordings in --data.dir. The oldest are deleted first.", "256MiB", &f.size)
	addFlag(cmd, "data.age", "Maximum age of the recordings in --data.dir.", "14d", &f.age)
	cmd.Validate(func(*kingpin.CmdClause) error { return f.validate() })
	f.anonymise = cmd.Flag("data.anonymise", "Replace names, addresses and UIDs in the recordings in --data.dir with pseudonyms. Do not share pseudonyms.key, incidents.jsonl or silences.json. With pseudonyms.key, anybody can test whether a pseudonym belongs to a name. The other two files contain real names.").Bool()
	return f
}

// validate rejects a flag that would have no effect.
func (f *dataFlags) validate() error {
	if *f.anonymise && *f.dir == "" {
		return errors.New("--data.anonymise needs --data.dir")
	}
	return nil
}

// enablePersistence makes the pipeline save its events and incidents in --data.dir. It also creates the predictor that
// reads the saved events. The caller must run the flight recorder, the history and the predictor.
func (f *dataFlags) enablePersistence(logger *slog.Logger, p *pipeline, watcher *watch.Watcher, settings settings) (*flightrecorder.Recorder, error) {
	if f.age == 0 {
		return nil, errors.New("--data.age: must be more than 0s")
	}
	recorder, err := flightrecorder.New(flightrecorder.Settings{
		Dir: *f.dir, Size: int64(f.size), Age: time.Duration(f.age), Anonymise: *f.anonymise, List: watcher.List,
	}, logger)
	if err != nil {
		return nil, err
	}
	p.record, p.waitForDisk, p.recorderStatus = recorder.Record, recorder.Pace, recorder.Status
	p.whatIf = background.New(*f.dir, settings.tracker.GracePeriod)
	earlier := readState[coverage.State](*f.dir, coverageFile, logger)
	p.history = openHistory(*f.dir, settings.incidents, earlier, p.incidents, logger)
	p.coverage = coverage.New(p.started, earlier, p.history.Stopped())
	if p.history.journal.InUse() {
		p.coverage.Overlap()
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
