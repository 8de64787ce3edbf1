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
)

const (
	incidentsFile = "incidents.jsonl"
	coverageFile  = "coverage.json"
	// saveEvery is the interval at which kubeflap saves important changes of ongoing incidents. kubeflap saves the
	// start and the end of an incident immediately. saveSame is the interval at which kubeflap saves the coverage, and
	// incidents in which only counts have changed.
	saveEvery = time.Second
	saveSame  = 30 * time.Second
	// compareEvery is the interval at which incidents from before the restart are compared with the tracker's state. It
	// is not shorter, because each comparison copies that state.
	compareEvery = time.Second
	// saveWithin is the maximum time that an event waits for the disk. The limit keeps a hanging disk from stopping
	// kubeflap. Unless the disk hangs, kubeflap saves each incident before it reports the incident.
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
	// counted holds the state of each ongoing incident at its last save, by ID. looked is when kubeflap last looked for
	// important changes. saved is when it last looked for all changes.
	counted       map[string]changes
	looked, saved time.Time
	// compared is the last time at which incidents from before the restart were compared with the tracker's state.
	compared time.Time
	// reported holds the IDs of the earlier incidents that have been reported as continued.
	reported map[string]bool
	// interrupted is set when the ongoing incidents of the previous process have been saved as interrupted.
	interrupted bool
	// unread is the time until which incidents are missing because the file could not be read, or zero.
	unread time.Time
	// coverageErr is the error of the last attempt to save the coverage, or nil. Only run uses it.
	coverageErr error
}

// openHistory reads the incidents of earlier processes. If the file cannot be read, kubeflap runs without these
// incidents. It saves no incidents until it can read the file, because saving would delete the earlier ones.
func openHistory(dir string, size int, earlier coverage.State, current *correlate.Log, logger *slog.Logger) *history {
	path := filepath.Join(dir, incidentsFile)
	stopped := journal.LastSave(path)
	file, saved, err := journal.Open(path, size)
	if err != nil {
		logger.Error("cannot read the incidents of earlier processes, continuing without them", "err", err)
	}
	if len(saved) > 0 {
		logger.Info("loaded the incidents of earlier processes", "incidents", len(saved), "directory", dir)
	}
	for _, t := range []time.Time{flightrecorder.LastWrite(dir), earlier.AsOf} {
		if t.After(stopped) {
			stopped = t
		}
	}
	h := &history{
		Archive: archive.New(saved, stopped), journal: file, size: size, logger: logger,
		jobs: make(chan saveJob, 64), ended: make(chan struct{}), current: current, counted: map[string]changes{}, reported: map[string]bool{},
	}
	h.lose(err, path, !earlier.Since.IsZero())
	return h
}

// readCoverage reads the coverage of earlier processes. If there is none, it returns an empty State, so that the
// coverage begins with this process.
func readCoverage(dir string, logger *slog.Logger) (earlier coverage.State) {
	text, err := os.ReadFile(filepath.Join(dir, coverageFile))
	if errors.Is(err, fs.ErrNotExist) {
		return coverage.State{}
	}
	if err == nil {
		err = json.Unmarshal(text, &earlier)
	}
	if err != nil {
		logger.Warn("cannot read the coverage of earlier processes, continuing without it", "file", filepath.Join(dir, coverageFile), "err", err)
		return coverage.State{}
	}
	return earlier
}

// keep saves the incidents in notices before they are reported. It returns the notices, merged with the incidents of
// earlier processes. If several incidents continue the same earlier one, keep omits the notices about the later
// continuations and the earlier ends.
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

// continues adapts a notice about an incident that continues an earlier one. It reports whether the notice must be
// reported.
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
	return h.One(at, x, func(id string) (incident.Incident, bool) { return h.currentOne(at, id) })
}

// look compares the incidents from before the restart with the tracker's state. It returns those that have ended since the
// last call.
func (h *history) look(at time.Time, tracker *track.Tracker) (ended []incident.Incident) {
	if at.Sub(h.compared).Abs() < compareEvery || !h.Stands() {
		return nil
	}
	h.compared = at
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

// clusterOf returns the nodes that are not Ready, and the Services with missing or unready addresses.
func clusterOf(at time.Time, tracker *track.Tracker) *archive.Cluster {
	c := &archive.Cluster{
		NotReady: map[string]bool{}, Services: map[archive.ServiceName]archive.Lacking{},
		NotReadyOn: func(s archive.ServiceName) []string { return tracker.NotReadyOn(s.Namespace, s.Name) },
	}
	for _, n := range tracker.Nodes(at, nil) {
		if n.Ready != event.StatusTrue {
			c.NotReady[n.Name] = true
		}
	}
	for _, s := range tracker.Services(at, nil) {
		if s.Ready == 0 || s.NotReady > 0 {
			c.Services[archive.ServiceName{Namespace: s.Namespace, Name: s.Name}] = archive.Lacking{All: s.Ready == 0, NotReady: s.NotReady}
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
	for _, by := range continuedBy {
		if x, found := h.currentOne(t, by); found {
			x, _, _ = h.one(t, x)
			return x, true
		}
	}
	return past, ok
}

// currentOne returns the incident of this process with this ID, or the one into which it was merged.
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
