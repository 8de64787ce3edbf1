package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/coverage"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// saveJob is a request to save incidents. `done` is closed after the attempt.
type saveJob struct {
	at        time.Time
	incidents []incident.Incident
	// `state` is also saved, unless it is nil.
	state *savedState
	done  chan struct{}
}

// savedState is what kubeflap keeps across restarts besides incidents.
type savedState struct {
	coverage coverage.State
	silences verdict.Past
}

// snapshot holds the fields of an incident that show whether the incident has changed since it was last saved. Changes
// of the fields in `important` are saved sooner than changes of the other fields.
type snapshot struct {
	important struct {
		state                          incident.State
		verdict                        verdict.Verdict
		outages, down, nodes, services int
	}
	lost, bounces, turned, evicted, evidence int
	// happened is Incident.Happened. It is empty in an incident from correlate.Log.Overview.
	happened string
}

func snapshotOf(x *incident.Incident) (c snapshot) {
	c.important.state, c.important.verdict, c.important.outages = x.State, x.Verdict, x.Outages
	c.important.nodes, c.important.services = len(x.Nodes)+x.NodesLeftOut, len(x.Services)+x.ServicesLeftOut
	for _, s := range x.Services {
		if s.Down {
			c.important.down++
		}
	}
	c.happened = x.Happened
	c.lost, c.bounces, c.turned, c.evicted, c.evidence = x.Lost, x.Bounces, x.Turned, x.Evicted, len(x.Evidence)+x.EvidenceLeftOut
	return c
}

// run saves incidents until ctx is canceled. It then saves the remaining jobs in the queue, and finally the job that
// `last` returns.
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

// write saves a job and returns the error text, or an empty string. `failing` is the result of the previous call. write
// logs an error only if the error differs from that result.
func (h *history) write(job saveJob, failing string) string {
	defer close(job.done)
	err := h.journal.Save(job.at, job.incidents...)
	if job.state != nil {
		if h.stateErr = h.saveState(coverageFile, job.state.coverage); h.stateErr == nil {
			h.stateErr = h.saveState(silencesFile, job.state.silences)
		}
	}
	if err == nil {
		err = h.stateErr // this error may come from an earlier job
	}
	switch {
	case err == nil && failing != "":
		h.logger.Info("resumed saving incidents")
	case err != nil && err.Error() != failing:
		h.logger.Error("cannot save incidents, retrying", "err", err)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func (h *history) saveState(name string, state any) error {
	text, err := json.Marshal(state)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return h.journal.SaveBeside(name, text) //nolint:wrapcheck // the error contains the file name
}

// save saves incidents. It waits at most saveWithin for the disk.
func (h *history) save(at time.Time, incidents []incident.Incident, state *savedState) {
	for _, x := range incidents {
		h.unsaved[x.ID] = x
	}
	job := saveJob{at, slices.Collect(maps.Values(h.unsaved)), state, make(chan struct{})}
	timer := time.NewTimer(saveWithin)
	defer timer.Stop()
	select {
	case h.jobs <- job:
		clear(h.unsaved)
	case <-h.ended:
		return
	default: // the disk hangs. The next call tries again.
		return
	}
	select {
	case <-job.done:
	case <-timer.C:
	case <-h.ended:
	}
}

// saveOngoing saves the ongoing incidents that have changed. At the interval saveCountsEvery, it also saves
// coverage.json and silences.json.
func (h *history) saveOngoing(at time.Time, covered *coverage.Log) {
	if at.Sub(h.lastCheck).Abs() < saveEvery {
		return
	}
	h.lastCheck = at
	all := at.Sub(h.lastFullCheck).Abs() >= saveCountsEvery
	if job := h.newSaveJob(at, covered, all); all || len(job.incidents) > 0 || len(h.unsaved) > 0 {
		h.save(at, job.incidents, job.state) // includes the incidents that could not be saved before
		return
	}
	if len(h.jobs) == 0 { // do not fill the queue while the disk hangs
		h.jobs <- saveJob{at: at, done: make(chan struct{})} // an empty job records that the process is running
	}
}

// newSaveJob returns a job with the ongoing incidents that must be saved. If `all` is false, these are the incidents
// with important changes. If `all` is true, the job also contains the incidents with changed counts, and the state.
func (h *history) newSaveJob(at time.Time, covered *coverage.Log, all bool) saveJob {
	job := saveJob{at: at, done: make(chan struct{})}
	var outlines []incident.Incident
	outlines, h.changeCursor = h.current.Changed(at, h.changeCursor)
	if all {
		outlines = h.current.Overview(at)
		h.pruneLastSaved(outlines)
	}
	for i := range outlines {
		if x, ok := h.incidentToSave(at, &outlines[i], all); ok {
			job.incidents = append(job.incidents, x)
		}
	}
	if all {
		job.incidents = slices.AppendSeq(append(job.incidents, h.Ongoing(at)...), maps.Values(h.unsaved))
	}
	if h.journal.Removed() {
		job.incidents = h.Join(at, h.current.Incidents(at), h.size)
	}
	if all {
		h.lastFullCheck = at
		job.state = &savedState{covered.Now(), h.current.Past(at)}
	}
	return job
}

// incidentToSave returns the complete incident if it must be saved. `outline` is the same incident without some of its
// fields, as in an overview.
func (h *history) incidentToSave(at time.Time, outline *incident.Incident, all bool) (incident.Incident, bool) {
	old, known := h.lastSaved[outline.ID]
	ended := outline.State == incident.StateEnded
	if now := snapshotOf(outline); known && (!all || ended) && now.important == old.important {
		return incident.Incident{}, false
	}
	x, ok := h.current.Incident(at, outline.ID)
	if !ok {
		return incident.Incident{}, false
	}
	now := snapshotOf(&x)
	h.lastSaved[x.ID] = now
	if now == old {
		return incident.Incident{}, false
	}
	x, _, _ = h.joinEarlier(at, x)
	return x, true
}

// pruneLastSaved keeps only the incidents of the overview in lastSaved.
func (h *history) pruneLastSaved(overview []incident.Incident) {
	was := h.lastSaved
	h.lastSaved = make(map[string]snapshot, len(overview))
	for i := range overview {
		if c, ok := was[overview[i].ID]; ok {
			h.lastSaved[overview[i].ID] = c
		}
	}
}
