package main

import (
	"encoding/json"
	"errors"
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
	silencesFile  = "silences.json"
	// kubeflap saves the start and the end of an incident immediately. saveEvery is the interval at which kubeflap
	// saves other important changes, such as a new verdict. saveCountsEvery is the interval at which kubeflap saves
	// changed counts, and the file coverage.json.
	saveEvery       = time.Second
	saveCountsEvery = 30 * time.Second
	// compareEvery is the interval at which kubeflap checks whether incidents from before a restart have ended. Each
	// check copies the tracker's state.
	compareEvery = time.Second
	// saveWithin is the maximum time to wait for the disk. kubeflap saves an incident before it reports the incident,
	// but a hanging disk must not stop kubeflap.
	saveWithin = 200 * time.Millisecond
)

// history keeps incidents across restarts.
type history struct {
	*archive.Archive
	journal *journal.Journal
	size    int
	logger  *slog.Logger
	jobs    chan saveJob
	// `ended` is closed when no more incidents will be saved.
	ended chan struct{}
	// current holds the incidents of this process.
	current *correlate.Log
	// lastSaved holds the last saved state of each ongoing incident, by ID. lastCheck is the time of the last check for
	// changes. lastFullCheck is the time of the last check that included changes of counts.
	lastSaved                map[string]snapshot
	lastCheck, lastFullCheck time.Time
	// changeCursor is the argument for the next call of correlate.Log.Changed.
	changeCursor uint64
	// `compared` is the time of the last call of the method compare.
	compared time.Time
	// `reported` holds the IDs of earlier processes' incidents that have been reported as continued.
	reported map[string]bool
	// reportedMerged holds the IDs of earlier processes' incidents that have been reported as merged.
	reportedMerged map[string]bool
	// `unsaved` holds, by ID, the incidents that could not be saved because the disk hung.
	unsaved map[string]incident.Incident
	// pendingEnds holds the IDs of earlier processes' incidents whose ends have not been reported yet.
	pendingEnds map[string]bool
	// `interrupted` is set after the ongoing incidents of the previous process have been saved as interrupted.
	interrupted bool
	// `unread` is zero if incidents.jsonl could be read. Otherwise, incidents before this time are missing.
	unread time.Time
	// stateErr is the error of the last attempt to save coverage.json and silences.json, or nil. Only the method write
	// uses stateErr.
	stateErr error
}

// openHistory reads the incidents of earlier processes. If the file cannot be read, kubeflap runs without these
// incidents. It then saves no incidents until it can read the file. Saving would overwrite the earlier incidents.
func openHistory(dir string, size int, earlier coverage.State, current *correlate.Log, logger *slog.Logger) *history {
	path := filepath.Join(dir, incidentsFile)
	file, saved, err := journal.Open(path, size)
	if err != nil {
		logger.Error("cannot read incidents from previous runs, continuing without them", "err", err)
	}
	if len(saved) > 0 {
		logger.Info("loaded incidents from previous runs", "incidents", len(saved), "directory", dir)
	}
	h := &history{
		Archive: archive.New(saved, stoppedAt(earlier.AsOf, journal.LastSave(path), flightrecorder.LastWrite(dir))), journal: file, size: size, logger: logger,
		jobs: make(chan saveJob, 64), ended: make(chan struct{}), current: current, lastSaved: map[string]snapshot{}, reported: map[string]bool{},
		reportedMerged: map[string]bool{}, unsaved: map[string]incident.Incident{}, pendingEnds: map[string]bool{},
	}
	current.Reserve(h.IDs()...)
	h.checkForLoss(err, path, !earlier.Since.IsZero())
	current.Restore(readState[verdict.Past](dir, silencesFile, logger))
	return h
}

// stoppedAt estimates when the previous process stopped. asOf is the time at which that process last wrote
// coverage.json, or zero if unknown. `writes` holds the modification times of other files. Times long after asOf are
// ignored, because the directory may have been copied.
func stoppedAt(asOf time.Time, writes ...time.Time) time.Time {
	stopped := asOf
	for _, t := range writes {
		if t.After(stopped) && t.Before(asOf.Add(2*saveCountsEvery)) {
			stopped = t
		}
	}
	return stopped
}

// readState reads a file that earlier processes saved in the directory. If the file is missing or cannot be read, it
// returns the zero value.
func readState[T any](dir, name string, logger *slog.Logger) (saved T) {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return saved
	}
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err != nil {
		logger.Warn("cannot read the state from previous runs, continuing without it", "file", path, "err", err)
		var none T
		return none
	}
	return saved
}

// saveAndFilter saves the incidents of the notices and returns the notices to report. A new incident may continue one
// from before the restart. saveAndFilter then merges the two, and returns only one notice about their continuation and
// one about their end.
func (h *history) saveAndFilter(at time.Time, notices []incident.Notice) []incident.Notice {
	var changed []incident.Incident
	var kept []incident.Notice
	for _, n := range notices {
		raw := n.Incident.ID
		if n.Kind != incident.Merged {
			h.lastSaved[raw] = snapshotOf(&n.Incident) // the incident is saved below
		}
		joined, others, continued := h.joinEarlier(at, n.Incident)
		n.Incident = joined
		switch n.Kind {
		case incident.Merged:
		case incident.Dropped:
			displaced := n.Incident
			displaced.Open = &incident.Open{Displaced: true}
			changed = append(changed, displaced)
		default:
			changed = append(changed, n.Incident)
		}
		if continued && !h.adaptContinued(at, &n, raw, others) {
			continue
		}
		kept = append(kept, n)
	}
	if len(changed) > 0 {
		h.save(at, changed, nil)
	}
	return kept
}

// adaptContinued adapts the notice n about a new incident that continues one from before the restart. It returns false
// if n must not be reported. raw is the new incident's own ID.
func (h *history) adaptContinued(at time.Time, n *incident.Notice, raw string, others []incident.Incident) bool {
	id := n.Incident.ID
	switch n.Kind {
	case incident.Started:
		if h.Has(id) {
			n.Kind = incident.Continued // id is the ID of the earlier incident
		}
		known := h.reported[id]
		h.reported[id] = true
		return !known
	case incident.Merged:
		return h.adaptMerged(at, n, raw)
	case incident.Ended:
		over := n.Incident.State == incident.StateEnded &&
			!slices.ContainsFunc(others, func(x incident.Incident) bool { return x.State != incident.StateEnded })
		if !over {
			h.pendingEnds[id] = true
		} else {
			delete(h.pendingEnds, id)
		}
		return over
	}
	return true
}

// adaptMerged adapts the notice n about an incident that has become part of another one. It returns false if n must not
// be reported. This is the case, for example, if both incidents continue the same incident from before the restart.
func (h *history) adaptMerged(at time.Time, n *incident.Notice, raw string) bool {
	earlier, _, found := h.Find(at, h.PastIDOf(raw))
	into, ok := h.incident(at, n.Into)
	if !ok || !found || earlier.ID == into.ID || h.reportedMerged[earlier.ID] {
		return false
	}
	h.reportedMerged[earlier.ID] = true
	earlier.State = incident.StateEnded
	n.Incident, n.Into = earlier, into.ID
	return true
}

func (h *history) joinEarlier(at time.Time, x incident.Incident) (joined incident.Incident, others []incident.Incident, continued bool) {
	return h.One(at, x, func(id string) (incident.Incident, bool) { return h.currentOne(at, id) })
}

// checkEarlierIncidents compares the incidents from before the restart with the tracker's state. It returns a notice
// when it finds that an incident is still ongoing, and another notice when the incident has ended.
func (h *history) checkEarlierIncidents(at time.Time, tracker *track.Tracker) (notices []incident.Notice) {
	if at.Sub(h.compared).Abs() < compareEvery {
		return nil
	}
	h.compared = at
	if !h.interrupted {
		h.interrupted = true
		h.save(at, h.Interrupted(), nil)
	}
	ongoing, changed := h.compare(at, tracker)
	for _, x := range ongoing {
		notices = append(notices, incident.Notice{Kind: incident.Continued, Incident: x})
	}
	for _, x := range append(h.Ended(at), h.takePendingEnds(at)...) {
		h.current.Reserve(append(x.Also, x.ID)...)
		notices = append(notices, incident.Notice{Kind: incident.Ended, Incident: x})
		changed = append(changed, x)
	}
	if changed = append(changed, ongoing...); len(changed) > 0 {
		h.save(at, changed, nil)
	}
	return notices
}

// compare checks the incidents from before the restart against the tracker's state. It returns the ongoing incidents
// that have not been reported yet, and the incidents that must be saved. An incident must be saved after its first
// check, and when it has recovered.
func (h *history) compare(at time.Time, tracker *track.Tracker) (ongoing, changed []incident.Incident) {
	if !h.NeedsCheck() {
		return nil, nil
	}
	still, others := h.Check(at, clusterOf(tracker))
	for _, id := range still {
		if x, ok := h.incident(at, id); ok && !h.reported[x.ID] {
			h.reported[x.ID] = true
			ongoing = append(ongoing, x)
		}
	}
	for _, id := range others {
		if x, ok := h.incident(at, id); ok {
			changed = append(changed, x)
		}
	}
	return ongoing, changed
}

// takePendingEnds returns the incidents in pendingEnds that have ended. It removes them from pendingEnds.
func (h *history) takePendingEnds(at time.Time) (ended []incident.Incident) {
	for id := range h.pendingEnds {
		x, ok := h.incident(at, id)
		if ok && x.State != incident.StateEnded {
			continue
		}
		delete(h.pendingEnds, id)
		if ok {
			ended = append(ended, x)
		}
	}
	return ended
}

// clusterOf gives the archive access to the tracker's state.
func clusterOf(tracker *track.Tracker) *archive.Cluster {
	return &archive.Cluster{
		Lost:      tracker.IsLost,
		Down:      func(s archive.ServiceName) bool { return tracker.IsDown(s.Namespace, s.Name) },
		Failing:   func(s archive.ServiceName) bool { return tracker.IsFailing(s.Namespace, s.Name) },
		Out:       func(s archive.ServiceName, id event.UID) bool { return tracker.IsOut(s.Namespace, s.Name, id) },
		Diverging: func(s archive.ServiceName) bool { return tracker.IsDiverging(s.Namespace, s.Name) },
	}
}

// incident returns the incident with the given ID. The incident may come from an earlier process.
func (h *history) incident(t time.Time, id string) (incident.Incident, bool) {
	x, ok := h.current.Incident(t, id)
	if ok {
		x, _, _ = h.joinEarlier(t, x)
		return x, true
	}
	past, continuedBy, ok := h.Find(t, id)
	for _, by := range continuedBy {
		if x, found := h.currentOne(t, by); found {
			x, _, _ = h.joinEarlier(t, x)
			return x, true
		}
	}
	return past, ok
}

// currentOne returns the incident of this process with the given ID. If this incident has become part of another
// incident, currentOne returns the incident that contains it.
func (h *history) currentOne(t time.Time, id string) (incident.Incident, bool) {
	if x, ok := h.current.Incident(t, id); ok {
		return x, true
	}
	for _, x := range h.current.Overview(t) {
		if slices.Contains(x.Also, id) {
			return h.current.Incident(t, x.ID)
		}
	}
	return incident.Incident{}, false
}
