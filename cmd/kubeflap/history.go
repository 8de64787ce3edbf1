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
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/coverage"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/archive"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/journal"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	incidentsFile = "incidents.jsonl"
	coverageFile  = "coverage.json"
	// saveEvery is the interval at which kubeflap looks for changes of ongoing incidents. Their start and end are saved
	// immediately. saveSame is the interval at which incidents are saved of which only counts have changed, and the
	// coverage.
	saveEvery = time.Second
	saveSame  = 30 * time.Second
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
	// current holds the incidents of this process.
	current *correlate.Log
	// counted holds each ongoing incident at the last save, by ID. looked and saved are the times of the last look for
	// important changes, and for all changes.
	counted       map[string]changes
	looked, saved time.Time
	// reported holds the IDs of the earlier incidents that have been reported as continued.
	reported map[string]bool
	// interrupted is set when the ongoing incidents of the previous process have been saved as interrupted.
	interrupted bool
}

// saveJob is a request to save incidents. done is closed after the attempt.
type saveJob struct {
	at        time.Time
	incidents []incident.Incident
	// coverage is also saved, unless it is nil.
	coverage *coverage.State
	done     chan struct{}
}

// changes is used to detect changes of an incident: important ones, and all others.
type changes struct {
	important struct {
		state                          incident.State
		verdict                        verdict.Verdict
		outages, down, nodes, services int
	}
	lost, bounces, turned, evicted, evidence int
}

func changesOf(x *incident.Incident) (c changes) {
	c.important.state, c.important.verdict, c.important.outages = x.State, x.Verdict, x.Outages
	c.important.nodes, c.important.services = len(x.Nodes)+x.NodesLeftOut, len(x.Services)+x.ServicesLeftOut
	for _, s := range x.Services {
		if s.Down {
			c.important.down++
		}
	}
	c.lost, c.bounces, c.turned, c.evicted, c.evidence = x.Lost, x.Bounces, x.Turned, x.Evicted, len(x.Evidence)+x.EvidenceLeftOut
	return c
}

// openHistory reads the incidents of earlier processes. If it cannot read them, kubeflap runs without them, and saves no
// incidents until it can read the file, because saving would delete them.
func openHistory(dir string, size int, earlier coverage.State, current *correlate.Log, logger *slog.Logger) *history {
	file, saved, err := journal.Open(filepath.Join(dir, incidentsFile), size)
	if err != nil {
		logger.Error("cannot read the incidents of earlier processes, continuing without them", "err", err)
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
		jobs: make(chan saveJob, 64), ended: make(chan struct{}), current: current, counted: map[string]changes{}, reported: map[string]bool{},
	}
}

// run saves incidents until the context is canceled. It then saves what last returns, and the jobs that still wait.
func (h *history) run(ctx context.Context, last func() saveJob) error {
	defer close(h.ended)
	failing := ""
	for {
		select {
		case <-ctx.Done():
			final := last()
			for len(h.jobs) > 0 {
				failing = h.write(<-h.jobs, failing)
			}
			h.write(final, failing)
			return h.journal.Close()
		case job := <-h.jobs:
			failing = h.write(job, failing)
		}
	}
}

// write does a job. It logs an error unless it equals failing, the last one, and returns it.
func (h *history) write(job saveJob, failing string) string {
	defer close(job.done)
	err := h.journal.Save(job.at, job.incidents...)
	if err == nil && job.coverage != nil {
		err = h.saveCoverage(job.coverage)
	}
	switch {
	case err == nil && failing != "":
		h.logger.Info("incidents are saved again")
	case err != nil && err.Error() != failing:
		h.logger.Error("cannot save incidents, trying again", "err", err)
	}
	if err != nil {
		return err.Error()
	}
	return ""
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
// earlier processes. If several incidents continue the same earlier one, it only returns the first continuation and the
// last end.
func (h *history) keep(at time.Time, notices []incident.Notice) []incident.Notice {
	var changed []incident.Incident
	var kept []incident.Notice
	for _, n := range notices {
		joined, others, continued := h.one(at, n.Incident)
		n.Incident = joined
		if n.Kind != incident.Merged {
			changed = append(changed, n.Incident)
		}
		if continued && !h.continues(at, &n, others) {
			continue
		}
		kept = append(kept, n)
	}
	if len(changed) > 0 {
		h.save(at, changed, nil)
	}
	return kept
}

// continues adapts a notice about an incident that continues an earlier one. It reports whether the notice is news.
func (h *history) continues(at time.Time, n *incident.Notice, others []incident.Incident) bool {
	id := n.Incident.ID
	switch n.Kind {
	case incident.Started:
		n.Kind = incident.Continued
		known := h.reported[id]
		h.reported[id] = true
		return !known
	case incident.Merged:
		into, ok := h.incident(at, n.Into)
		return !ok || into.ID != id
	case incident.Ended:
		return n.Incident.State == incident.StateEnded &&
			!slices.ContainsFunc(others, func(x incident.Incident) bool { return x.State != incident.StateEnded })
	}
	return true
}

// one merges an incident of this process with those of earlier processes. See archive.One.
func (h *history) one(at time.Time, x incident.Incident) (joined incident.Incident, others []incident.Incident, continued bool) {
	return h.One(at, x, func(id string) (incident.Incident, bool) { return h.current.Incident(at, id) })
}

// saveOngoing saves the changed ongoing incidents, and sometimes the coverage.
func (h *history) saveOngoing(at time.Time, covered *coverage.Log) {
	if at.Sub(h.looked) < saveEvery {
		return
	}
	h.looked = at
	all := at.Sub(h.saved) >= saveSame
	if job := h.changed(at, covered, all); all || len(job.incidents) > 0 {
		h.save(at, job.incidents, job.coverage) // this includes incidents that could not be saved before
	}
}

// changed returns the ongoing incidents that have changed since they were last saved. With all, it includes those of
// which only counts have changed, and the coverage.
func (h *history) changed(at time.Time, covered *coverage.Log, all bool) saveJob {
	job := saveJob{at: at, done: make(chan struct{})}
	if !h.interrupted {
		h.interrupted = true
		job.incidents = h.Interrupted()
	}
	was := h.counted
	h.counted = make(map[string]changes, len(was))
	for _, outline := range h.current.Overview(at) {
		if outline.State == incident.StateEnded {
			continue
		}
		old, known := was[outline.ID]
		if now := changesOf(&outline); known && !all && now.important == old.important {
			h.counted[outline.ID] = old
			continue
		}
		x, ok := h.current.Incident(at, outline.ID)
		if !ok {
			continue
		}
		now := changesOf(&x)
		h.counted[x.ID] = now
		if now != old {
			x, _, _ = h.one(at, x)
			job.incidents = append(job.incidents, x)
		}
	}
	if h.journal.Removed() {
		job.incidents = h.Join(at, h.current.Incidents(at), h.size)
	}
	if all {
		h.saved = at
		covers := covered.Now()
		job.coverage = &covers
	}
	return job
}

// look compares the incidents from before the restart with the tracker's state. It returns those that have ended since the
// last call.
func (h *history) look(at time.Time, tracker *track.Tracker) (ended []incident.Incident) {
	if !h.Stands() {
		return nil
	}
	var all []incident.Incident
	for _, id := range h.Look(at, clusterOf(at, tracker)) {
		x, ok := h.incident(at, id)
		if !ok {
			continue
		}
		all = append(all, x)
		if x.State == incident.StateEnded {
			ended = append(ended, x)
		}
	}
	if len(all) > 0 {
		h.save(at, all, nil)
	}
	return ended
}

// clusterOf returns what nodes and Services lack.
func clusterOf(at time.Time, tracker *track.Tracker) *archive.Cluster {
	c := &archive.Cluster{NotReady: map[string]bool{}, Services: map[archive.ServiceName]archive.Lacking{}}
	for _, n := range tracker.Nodes(at, nil) {
		if n.Ready != event.StatusTrue {
			c.NotReady[n.Name] = true
		}
	}
	for _, s := range tracker.Services(at, nil) {
		if s.Ready == 0 || s.NotReady > 0 {
			c.Services[archive.ServiceName{Namespace: s.Namespace, Name: s.Name}] = archive.Lacking{All: s.Ready == 0, Some: s.NotReady > 0}
		}
	}
	return c
}

// incident returns the incident with an ID, from this process or an earlier one.
func (h *history) incident(t time.Time, id string) (incident.Incident, bool) {
	x, ok := h.current.Incident(t, id)
	if ok {
		x, _, _ = h.one(t, x)
		return x, true
	}
	past, continuedBy, ok := h.Find(t, id)
	if x, found := h.current.Incident(t, continuedBy); found {
		x, _, _ = h.one(t, x)
		return x, true
	}
	return past, ok
}
