package flightrecorder

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// incidentsFile is the name of the file with the resolved incidents in the directory of --data.dir.
const incidentsFile = "incidents.jsonl"

const (
	// saveAgainAfter is the delay between two attempts to write.
	saveAgainAfter = 10 * time.Second
	// rewriteAbove is the size in bytes above which the file is replaced by one with only the kept incidents, at most half
	// as large.
	rewriteAbove = 16 << 20
)

// Journal holds the resolved incidents of this process and of earlier ones, and keeps them in a file, so that they survive
// a restart. The file has one line of JSON for each incident. Lines are appended, and never changed. Journal is safe for
// concurrent use. No method but Run waits for the disk.
type Journal struct {
	path   string
	size   int
	logger *slog.Logger
	added  chan struct{}

	mu sync.Mutex
	// kept holds the newest incidents, in the order of their resolution. If an incident was resolved again, because its
	// verdict was revised, only its last state is kept.
	kept      []*entry
	displaced incident.Displaced
	lostUntil time.Time
}

// entry is an incident, and whether the file contains it.
type entry struct {
	incident.Incident
	saved bool
}

// OpenJournal reads the file in a directory. It keeps at most size incidents. If the file cannot be read or is damaged,
// OpenJournal logs it and keeps what can be read: see LostUntil. The time now is when kubeflap started.
func OpenJournal(dir string, size int, now time.Time, logger *slog.Logger) *Journal {
	j := &Journal{path: filepath.Join(dir, incidentsFile), size: max(size, 1), logger: logger, added: make(chan struct{}, 1)}
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
			j.keep(&entry{x, true})
			if unknown {
				unknown, j.lostUntil = false, x.End.Time
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
func (j *Journal) keep(x *entry) {
	j.kept = slices.DeleteFunc(j.kept, func(y *entry) bool { return y.ID == x.ID || slices.Contains(x.Also, y.ID) })
	j.kept = append(j.kept, x)
	for len(j.kept) > j.size {
		j.displaced.Displace(j.kept[0].End.Time)
		j.kept = slices.Delete(j.kept, 0, 1)
	}
}

// Add adds a resolved incident, unless the journal already holds it with the same verdict and end. It reports whether it
// added the incident. Run writes it later.
func (j *Journal) Add(x incident.Incident) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if slices.ContainsFunc(j.kept, func(y *entry) bool { return y.ID == x.ID && y.Verdict == x.Verdict && y.End.Equal(x.End.Time) }) {
		return false
	}
	j.keep(&entry{Incident: x})
	select {
	case j.added <- struct{}{}:
	default:
	}
	return true
}

// Incidents returns the kept incidents, and counts those that newer ones displaced.
func (j *Journal) Incidents() (all []incident.Incident, displaced incident.Displaced) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range j.kept {
		all = append(all, x.Incident)
	}
	return all, j.displaced
}

// Incident returns the incident with an ID, or the one into which an incident with this ID was merged.
func (j *Journal) Incident(id string) (incident.Incident, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range slices.Backward(j.kept) {
		if x.ID == id || slices.Contains(x.Also, id) {
			return x.Incident, true
		}
	}
	return incident.Incident{}, false
}

// LostUntil returns the time until which incidents may be missing because the file was damaged. It returns zero if none
// is missing.
func (j *Journal) LostUntil() time.Time { return j.lostUntil }

// Run writes incidents until ctx is canceled, and then once more. It retries if the disk fails. It logs an error once.
func (j *Journal) Run(ctx context.Context) error {
	endInTime(ctx, func() { j.run(ctx) })
	return nil
}

func (j *Journal) run(ctx context.Context) {
	failing := ""
	retry := time.NewTicker(saveAgainAfter)
	defer retry.Stop()
	for stopping := false; !stopping; {
		select {
		case <-ctx.Done():
			stopping = true // an incident can have been added during the last write
		case <-j.added:
		case <-retry.C:
		}
		switch err := j.write(); {
		case err == nil && failing != "":
			failing = ""
			j.logger.Info("resumed saving incidents")
		case err != nil && err.Error() != failing:
			failing = err.Error()
			j.logger.Error("cannot save incidents, retrying", "err", err)
		}
	}
}

// write appends the unsaved incidents to the file. If the file is too large, or somebody has deleted it, write replaces it
// by one with all incidents.
func (j *Journal) write() error {
	info, err := os.Stat(j.path)
	whole := errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() > rewriteAbove
	j.mu.Lock()
	unsaved := slices.Clone(j.kept)
	if !whole {
		unsaved = slices.DeleteFunc(unsaved, func(x *entry) bool { return x.saved })
	}
	j.mu.Unlock()
	if len(unsaved) == 0 {
		return nil
	}
	var text []byte
	for _, x := range unsaved {
		line, err := json.Marshal(&x.Incident)
		if err != nil {
			return fmt.Errorf("encode incident %s: %w", x.ID, err)
		}
		text = append(append(text, line...), '\n')
	}
	for whole && len(text) > rewriteAbove/2 {
		text = text[bytes.IndexByte(text, '\n')+1:]
	}
	if err := store(j.path, text, whole); err != nil {
		return fmt.Errorf("save incidents: %w", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range unsaved {
		x.saved = true
	}
	return nil
}

// store writes text to a file. It replaces the file if whole is set. Otherwise, it appends to the
// file. It opens the file each time, because somebody may have deleted it.
func store(path string, text []byte, whole bool) error {
	to, mode := path, os.O_APPEND
	if whole {
		to, mode = path+".tmp", os.O_TRUNC
		defer func() { _ = os.Remove(to) }() // after a failure, a partial file would fill the disk
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|mode, 0o600)
	if err != nil {
		return err
	}
	err = appendTo(file, text)
	err = cmp.Or(err, file.Close())
	if err == nil && whole {
		err = os.Rename(to, path)
	}
	return err
}

// appendTo appends text to a file and waits for the disk. If that fails, it leaves no part of the text, because the next line
// would continue a partial one, and lines that are already in the file would be repeated.
func appendTo(file *os.File, text []byte) error {
	end, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err = cmp.Or(err, file.Sync()); err != nil {
		_ = file.Truncate(end)
	}
	return err
}

// SetIncidentsAside renames the file with the resolved incidents, because they are of another cluster. The new name contains the
// given time.
func SetIncidentsAside(dir string, now time.Time) error {
	path := filepath.Join(dir, incidentsFile)
	err := os.Rename(path, path+"."+now.UTC().Format("20060102T150405Z"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("set aside the incidents of another cluster: %w", err)
	}
	return nil
}
