package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/kubeflap/kubeflap/exporter/coverage"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/archive"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/journal"
)

const (
	incidentsFile = "incidents.jsonl"
	coverageFile  = "coverage.json"
	// saveEvery is the interval at which ongoing incidents are saved. Their start and end are saved immediately.
	saveEvery = 30 * time.Second
	// saveWithin is the maximum time that an event waits for the disk. So a disk that hangs does not stop kubeflap.
	// Unless the disk hangs, everything that a process has reported is saved before it can be killed.
	saveWithin = 200 * time.Millisecond
)

// history keeps incidents across restarts.
type history struct {
	*archive.Archive
	journal *journal.Journal
	size    int
	logger  *slog.Logger
	jobs    chan saveJob
	// ended is closed when no more incidents will be saved.
	ended chan struct{}
	// counted holds the numbers of each ongoing incident at the last save, by ID. saved is the time of that save.
	counted map[string]numbers
	saved   time.Time
}

// saveJob is a request to save incidents. done is closed after the attempt.
type saveJob struct {
	at        time.Time
	incidents []incident.Incident
	// coverage is also saved, unless it is nil.
	coverage *coverage.State
	done     chan struct{}
}

// numbers is used to detect changes of an incident.
type numbers struct{ lost, bounces, outages, turned, evicted, evidence, services int }

// openHistory reads the incidents of earlier processes.
func openHistory(dir string, size int, earlier coverage.State, logger *slog.Logger) (*history, error) {
	file, saved, err := journal.Open(filepath.Join(dir, incidentsFile), size)
	if err != nil {
		return nil, err
	}
	if len(saved) > 0 {
		logger.Info("loaded the incidents of earlier processes", "incidents", len(saved), "directory", dir)
	}
	stopped := flightrecorder.LastWrite(dir)
	if earlier.AsOf.After(stopped) {
		stopped = earlier.AsOf
	}
	return &history{
		Archive: archive.New(saved, stopped), journal: file, size: size, logger: logger,
		jobs: make(chan saveJob, 64), ended: make(chan struct{}), counted: map[string]numbers{},
	}, nil
}

// run saves incidents until the context is canceled.
func (h *history) run(ctx context.Context) error {
	defer close(h.ended)
	failing := ""
	for {
		select {
		case <-ctx.Done():
			return h.journal.Close()
		case job := <-h.jobs:
			err := h.journal.Save(job.at, job.incidents...)
			if err == nil && job.coverage != nil {
				err = h.saveCoverage(job.coverage)
			}
			close(job.done)
			switch {
			case err != nil && err.Error() != failing:
				failing = err.Error()
				h.logger.Error("cannot save incidents, trying again", "err", err)
			case err == nil && failing != "":
				failing = ""
				h.logger.Info("incidents are saved again")
			}
		}
	}
}

func (h *history) saveCoverage(covered *coverage.State) error {
	text, err := json.Marshal(covered)
	if err != nil {
		return fmt.Errorf("encode the coverage: %w", err)
	}
	return h.journal.SaveBeside(coverageFile, text) //nolint:wrapcheck // the error names the file
}

// readCoverage reads the coverage of earlier processes. It is empty if there is none, so that the coverage begins with
// this process.
func readCoverage(dir string, logger *slog.Logger) (earlier coverage.State) {
	text, err := os.ReadFile(filepath.Join(dir, coverageFile))
	if errors.Is(err, fs.ErrNotExist) {
		return coverage.State{}
	}
	if err == nil {
		err = json.Unmarshal(text, &earlier)
	}
	if err != nil {
		logger.Warn("cannot read the coverage of earlier processes", "err", err)
		return coverage.State{}
	}
	return earlier
}

// save saves incidents. It waits for the disk for at most saveWithin.
func (h *history) save(at time.Time, incidents []incident.Incident, covered *coverage.State) {
	job := saveJob{at, incidents, covered, make(chan struct{})}
	timer := time.NewTimer(saveWithin)
	defer timer.Stop()
	select {
	case h.jobs <- job:
	case <-h.ended:
		return
	default: // the disk hangs. Ongoing incidents will be saved again later.
		return
	}
	select {
	case <-job.done:
	case <-timer.C:
	case <-h.ended:
	}
}

// keep saves the incidents in notices before they are reported. It returns the notices, merged with the incidents of
// earlier processes.
func (h *history) keep(at time.Time, notices []incident.Notice) []incident.Notice {
	var changed []incident.Incident
	for i := range notices {
		n := &notices[i]
		var continued bool
		n.Incident, continued = h.One(n.Incident)
		if n.Kind == incident.Started && continued {
			n.Kind = incident.Continued
		}
		if n.Kind != incident.Merged {
			changed = append(changed, n.Incident)
		}
	}
	if len(changed) > 0 {
		h.save(at, changed, nil)
	}
	return notices
}

// saveOngoing saves the coverage and the changed ongoing incidents at intervals of saveEvery.
func (h *history) saveOngoing(at time.Time, current *correlate.Log, covered *coverage.Log) {
	if at.Sub(h.saved) < saveEvery {
		return
	}
	h.saved = at
	was := h.counted
	h.counted = map[string]numbers{}
	var changed []incident.Incident
	for _, outline := range current.Overview(at) {
		x, ok := current.Incident(at, outline.ID)
		if !ok || x.State == incident.StateEnded {
			continue
		}
		n := numbers{x.Lost, x.Bounces, x.Outages, x.Turned, x.Evicted, len(x.Evidence) + x.EvidenceLeftOut, len(x.Services)}
		h.counted[x.ID] = n
		if was[x.ID] != n {
			x, _ = h.One(x)
			changed = append(changed, x)
		}
	}
	if h.journal.Removed() {
		changed = h.Join(current.Incidents(at), h.size)
	}
	covers := covered.Now()
	h.save(at, changed, &covers) // this includes incidents that could not be saved before
}

// incident returns the incident with an ID, from this process or an earlier one.
func (h *history) incident(t time.Time, id string, current *correlate.Log) (incident.Incident, bool) {
	x, ok := current.Incident(t, id)
	if ok {
		x, _ = h.One(x)
		return x, true
	}
	past, continuedBy, ok := h.Find(id)
	if x, found := current.Incident(t, continuedBy); found {
		x, _ = h.One(x)
		return x, true
	}
	return past, ok
}
