// Package journal keeps resolved incidents in a file, so that they survive a restart. The file has one line of JSON for
// each incident. Lines are appended, and never changed.
package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// fileName is the name of the file in the directory of --data.dir.
const fileName = "incidents.jsonl"

// retryAfter is the delay between two attempts to write.
const retryAfter = 10 * time.Second

// Journal holds the resolved incidents of this process and of earlier ones. It is safe for concurrent use. No method but
// Run waits for the disk.
type Journal struct {
	path   string
	size   int
	logger *slog.Logger
	added  chan struct{}

	mu sync.Mutex
	// kept holds the newest incidents, in the order of their resolution. If an incident was resolved again, because its
	// verdict was revised, only its last state is kept.
	kept []incident.Incident
	// unsaved holds the incidents that are not in the file yet, oldest first.
	unsaved   []incident.Incident
	displaced incident.Displaced
	lostUntil time.Time
}

// Open reads the file in a directory. It keeps at most size incidents. If the file cannot be read or is damaged, Open
// logs it and keeps what can be read: see LostUntil. The time now is when kubeflap started.
func Open(dir string, size int, now time.Time, logger *slog.Logger) *Journal {
	j := &Journal{path: filepath.Join(dir, fileName), size: max(size, 1), logger: logger, added: make(chan struct{}, 1)}
	text, err := os.ReadFile(j.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		logger.Error("cannot read the incidents of earlier processes, continuing without them", "err", err)
		j.lostUntil = now
		return j
	}
	if whole := bytes.LastIndexByte(text, '\n') + 1; whole < len(text) {
		_ = os.Truncate(j.path, int64(whole)) // if this fails, the next line is damaged, and its incident is resolved again
	}
	if damaged := j.parse(text, now); damaged > 0 {
		logger.Error("incidents of earlier processes are missing, because lines cannot be read. To see what was recorded, run kubeflap incidents with the data directory",
			"file", j.path, "lines", damaged, "until", j.lostUntil)
	}
	return j
}

// parse adds the incidents of all lines, and returns the number of damaged lines. The last line is not damaged if it has
// no newline: the process was killed while it wrote the line, and the next process resolves this incident again.
func (j *Journal) parse(text []byte, now time.Time) (damaged int) {
	unknown := false // set if the previous line was damaged
	for line := range bytes.Lines(text) {
		var x incident.Incident
		err := json.Unmarshal(line, &x)
		switch {
		case err == nil && x.ID != "":
			j.keep(x)
			if unknown {
				unknown, j.lostUntil = false, x.End
			}
		case bytes.HasSuffix(line, []byte("\n")):
			damaged++
			unknown = true
		}
	}
	if unknown {
		j.lostUntil = now
	}
	return damaged
}

// keep adds an incident, and drops an older state of it. If there are too many incidents, it also drops the oldest.
func (j *Journal) keep(x incident.Incident) {
	j.kept = slices.DeleteFunc(j.kept, func(y incident.Incident) bool { return y.ID == x.ID || slices.Contains(x.Also, y.ID) })
	j.kept = append(j.kept, x)
	for len(j.kept) > j.size {
		j.displaced.Add(incident.Displaced{Count: 1, Until: j.kept[0].End})
		j.kept = j.kept[1:]
	}
}

// Add adds a resolved incident, unless the journal already holds it with the same verdict and end. It reports whether it
// added the incident. Run writes it later.
func (j *Journal) Add(x incident.Incident) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if i := slices.IndexFunc(j.kept, func(y incident.Incident) bool { return y.ID == x.ID }); i >= 0 {
		if y := &j.kept[i]; y.Verdict == x.Verdict && y.End.Equal(x.End) {
			return false
		}
	}
	j.keep(x)
	j.unsaved = append(j.unsaved, x)
	if over := len(j.unsaved) - j.size; over > 0 {
		j.unsaved = slices.Delete(j.unsaved, 0, over)
	}
	select {
	case j.added <- struct{}{}:
	default:
	}
	return true
}

// Incidents returns the kept incidents, and counts those that newer ones displaced.
func (j *Journal) Incidents() ([]incident.Incident, incident.Displaced) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.kept), j.displaced
}

// Incident returns the incident with an ID, or the one into which an incident with this ID was merged.
func (j *Journal) Incident(id string) (incident.Incident, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range slices.Backward(j.kept) {
		if x.ID == id || slices.Contains(x.Also, id) {
			return x, true
		}
	}
	return incident.Incident{}, false
}

// LostUntil returns the time until which incidents may be missing because the file was damaged. It returns zero if none
// is missing.
func (j *Journal) LostUntil() time.Time { return j.lostUntil }

// Run writes incidents until ctx is canceled, and then once more. It retries if the disk fails.
func (j *Journal) Run(ctx context.Context) error {
	failing := ""
	retry := time.NewTicker(retryAfter)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			j.report(j.write(), failing)
			return nil
		case <-j.added:
		case <-retry.C:
		}
		failing = j.report(j.write(), failing)
	}
}

// report logs an error that differs from the previous one. It returns the text of the error.
func (j *Journal) report(err error, previous string) string {
	switch {
	case err == nil && previous != "":
		j.logger.Info("resumed saving incidents")
	case err != nil && err.Error() != previous:
		j.logger.Error("cannot save incidents, retrying", "err", err)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// write appends the unsaved incidents to the file. If somebody has deleted the file, it writes all incidents.
func (j *Journal) write() error {
	_, err := os.Stat(j.path)
	j.mu.Lock()
	if errors.Is(err, fs.ErrNotExist) {
		j.unsaved = slices.Clone(j.kept)
	}
	unsaved := slices.Clone(j.unsaved)
	j.mu.Unlock()
	if len(unsaved) == 0 {
		return nil
	}
	var text []byte
	for i := range unsaved {
		line, err := json.Marshal(&unsaved[i])
		if err != nil {
			return fmt.Errorf("encode incident %s: %w", unsaved[i].ID, err)
		}
		text = append(append(text, line...), '\n')
	}
	size, err := appendTo(j.path, text)
	if err != nil {
		return fmt.Errorf("save incidents: %w", err)
	}
	if size > trimAbove {
		if err := trim(j.path); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	last := unsaved[len(unsaved)-1].ID
	done := slices.IndexFunc(j.unsaved, func(x incident.Incident) bool { return x.ID == last }) + 1
	j.unsaved = slices.Delete(j.unsaved, 0, done)
	return nil
}
