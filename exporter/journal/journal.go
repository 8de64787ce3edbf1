// Package journal saves incidents in a file, so that they survive a restart.
package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/archive"
)

const (
	// maxLine limits the size of an incident in the file. An incident takes a few kilobytes, because its lists are
	// bounded.
	maxLine = 4 << 20
	// rewriteAbove is the size above which the file is rewritten, if it has also doubled since the last rewrite.
	rewriteAbove = 4 << 20
	// writeSize is the size of a write in bytes. The start or the end of an incident fits into one write.
	writeSize = 64 << 10
)

// Journal is a file with one line of JSON for each saved state of an incident. If several lines have the same ID, the
// last one is valid. A Journal is safe for concurrent use.
type Journal struct {
	path string
	size int

	mu   sync.Mutex
	lock *flock.Flock
	file *os.File
	// rewritten is the size of the file in bytes after the last rewrite.
	rewritten int64
	// pending holds the incidents that could not be written yet, by ID.
	pending   map[string]archive.Saved
	displaced incident.Displaced
	// written is the number of displaced incidents in the file. It never decreases, unless the file is damaged.
	written incident.Displaced
	// exists is set if Open found a file. damage describes the damage to that file. lostUntil is the time until which
	// incidents may be missing because of damage.
	exists    bool
	damage    string
	lostUntil time.Time
	// removed is set if the file was deleted or damaged while it was in use.
	removed atomic.Bool
}

// Open returns the newest incidents in a file, oldest first. The parameter size limits their number. It returns none if
// the file does not exist. It skips lines that cannot be parsed: see Damage. Nothing is written before the first Save.
func Open(path string, size int) (*Journal, []archive.Saved, error) {
	j := &Journal{path: path, size: size, pending: map[string]archive.Saved{}, lock: flock.New(lockOf(path), flock.SetPermissions(0o600))}
	found, err := load(path, size)
	j.displaced, j.written, j.lostUntil = found.Displaced, found.Displaced, found.LostUntil
	j.exists, j.damage = found.exists, found.damage()
	return j, found.kept, err
}

// Damage describes why incidents may be missing from the file that Open has read, or returns an empty string. existed is
// set if an earlier process has created the file, so that it should not be missing.
func (j *Journal) Damage(existed bool) string {
	if !j.exists && existed {
		return "the file does not exist"
	}
	return j.damage
}

// Lose records that incidents until a time may be missing because of damage. The next Save writes this to the file, so
// that later processes can also report it.
func (j *Journal) Lose(until time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lostUntil = latest(j.lostUntil, until)
}

// LostUntil returns the time until which incidents may be missing because this file was damaged, now or in an earlier
// process. It returns zero if none is missing.
func (j *Journal) LostUntil() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.lostUntil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Displaced returns the number of incidents that were once in the file, but that Open did not return because newer ones
// displaced them.
func (j *Journal) Displaced() incident.Displaced { return j.displaced }

// header is the first line of the file. Without a header, a new file would look like a file that has lost its
// incidents. Earlier versions of kubeflap skip this line, because it has no incident.
type header struct {
	Displaced incident.Displaced `json:"displaced"`
	LostUntil time.Time          `json:"lost_until,omitzero"`
}

// contents holds what a file contains.
type contents struct {
	header
	kept []archive.Saved
	// exists is set if there is a file. lines counts its lines, including the damaged ones.
	exists         bool
	lines, damaged int
}

// damage describes the damage to a file.
func (c *contents) damage() string {
	switch {
	case c.exists && c.lines == 0:
		return "the file is empty"
	case c.damaged > 0:
		return fmt.Sprintf("%d of %d lines cannot be read", c.damaged, c.lines)
	}
	return ""
}

func load(path string, size int) (found contents, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return found, nil
	}
	if err != nil {
		return contents{exists: true}, fmt.Errorf("open the saved incidents: %w", err)
	}
	defer func() { _ = file.Close() }() // the file was only read
	found.exists = true
	byID := map[string]archive.Saved{}
	for line, err := range linesOf(file) {
		if err != nil {
			return contents{exists: true}, fmt.Errorf("read the saved incidents in %s: %w", path, err)
		}
		found.add(line, byID)
	}
	// A merged incident may be saved in the same batch as the incident that it is part of, so the order of the two
	// lines has no meaning.
	for _, s := range byID {
		for _, id := range s.Incident.Also {
			delete(byID, id)
		}
	}
	kept, dropped := newest(slices.Collect(maps.Values(byID)), size)
	for i := range dropped {
		found.Displaced.Drop(&dropped[i].Incident, dropped[i].Time)
	}
	found.kept = kept
	return found, nil
}

// add adds a line: an incident, or the header.
func (c *contents) add(line []byte, byID map[string]archive.Saved) {
	var s struct {
		archive.Saved
		Displaced *incident.Displaced `json:"displaced"`
		LostUntil time.Time           `json:"lost_until"`
	}
	err := json.Unmarshal(line, &s)
	c.lines++
	switch {
	case err == nil && s.Incident.ID != "":
		byID[s.Incident.ID] = s.Saved
	case err == nil && s.Displaced != nil:
		c.header = header{*s.Displaced, s.LostUntil}
	default:
		c.damaged++
	}
}

// linesOf returns the lines of a file. It returns nil for a line that is longer than an incident can be, such as the
// zeros that a power failure can leave.
func linesOf(file io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		in := bufio.NewReaderSize(file, writeSize)
		var line []byte
		long := false
		for {
			part, more, err := in.ReadLine()
			if err != nil && !errors.Is(err, io.EOF) {
				yield(nil, err)
				return
			}
			if err != nil && line == nil && !long {
				return
			}
			if long = long || len(line)+len(part) > maxLine; long {
				line = nil
			} else {
				line = append(line, part...)
			}
			if more {
				continue
			}
			if !yield(line, nil) {
				return
			}
			line, long = nil, false
		}
	}
}

// newest returns the incidents to keep, oldest first, and the incidents to drop. The parameter size is the maximum
// number of incidents to keep. Like kubeflap itself, it first drops the oldest ended incidents.
func newest(all []archive.Saved, size int) (kept, dropped []archive.Saved) {
	slices.SortFunc(all, func(a, b archive.Saved) int {
		x, y := a.Incident.State == incident.StateEnded, b.Incident.State == incident.StateEnded
		switch {
		case x == y:
			return a.Incident.Start.Compare(b.Incident.Start)
		case x:
			return -1
		}
		return 1
	})
	over := max(len(all)-size, 0)
	dropped, kept = all[:over], all[over:]
	slices.SortFunc(kept, func(a, b archive.Saved) int { return a.Incident.Start.Compare(b.Incident.Start) })
	return kept, dropped
}

// Save writes the state of incidents at a point in time. If it returns nil, the incidents are in the file. Otherwise
// the next Save retries. Without incidents, Save only records that the process was still running at that time.
func (j *Journal) Save(at time.Time, incidents ...incident.Incident) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, x := range incidents {
		j.pending[x.ID] = archive.Saved{Time: at.UTC(), Incident: x}
	}
	if len(j.pending) > 0 {
		if err := j.write(); err != nil {
			return err
		}
	}
	if j.file != nil {
		// The time is only an improvement: without it, the last write shows roughly when the process ended.
		_ = os.Chtimes(lockOf(j.path), at, at)
	}
	return nil
}

// LastSave returns the time of the last Save to a file, or zero if it is unknown.
func LastSave(path string) time.Time {
	info, err := os.Stat(lockOf(path))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// lockOf returns the path of the lock file. Its modification time is the time of the last Save.
func lockOf(path string) string { return path + ".lock" }

// InUse reports whether another process saves its incidents in the file.
func (j *Journal) InUse() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := os.Stat(lockOf(j.path)); err != nil || j.file != nil {
		return false // Nothing is written before the first Save, so the lock must not be created.
	}
	locked, err := j.lock.TryLock()
	if locked {
		_ = j.lock.Close() // the next Save locks it again
	}
	return err == nil && !locked
}

// Removed reports whether the file was deleted or damaged since the last call. If so, the caller should save all
// incidents again.
func (j *Journal) Removed() bool { return j.removed.Swap(false) }

func (j *Journal) write() error {
	if err := j.open(); err != nil {
		return err
	}
	// Many ongoing incidents can take megabytes, so they are not encoded in memory.
	out := bufio.NewWriterSize(j.file, writeSize)
	lines := json.NewEncoder(out)
	for _, s := range j.pending {
		if err := lines.Encode(s); err != nil {
			j.close() // the file may contain a partial line, so the next write must begin with a newline
			return fmt.Errorf("save incident %s: %w", s.Incident.ID, err)
		}
	}
	if err := out.Flush(); err != nil {
		j.close()
		return fmt.Errorf("save incidents: %w", err)
	}
	clear(j.pending)
	return nil
}

// open opens the file for writing, unless another process has it open.
func (j *Journal) open() error {
	if j.file != nil {
		info, err := os.Stat(j.path)
		truncated := err == nil && info.Size() < j.rewritten
		if err == nil && !truncated && info.Size() < max(rewriteAbove, 2*j.rewritten) {
			return nil
		}
		j.close()
		if truncated {
			j.removed.Store(true)
		}
		if errors.Is(err, fs.ErrNotExist) {
			j.removed.Store(true)
			_ = j.lock.Close() // the lock file may be gone too
		}
	}
	switch locked, err := j.lock.TryLock(); {
	case err != nil:
		return fmt.Errorf("lock the incidents: %w", err)
	case !locked:
		return fmt.Errorf("another process saves its incidents in %s", j.path)
	}
	if err := j.rewrite(); err != nil {
		return err
	}
	file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open the incidents: %w", err)
	}
	j.file = file
	return nil
}

// rewrite replaces the file with one that contains only a header and the last line of each incident.
func (j *Journal) rewrite() error {
	found, err := load(j.path, j.size)
	if err != nil {
		return err
	}
	if found.damaged > 0 {
		j.removed.Store(true)
	}
	j.lostUntil = latest(j.lostUntil, found.LostUntil)
	if found.Displaced.Count > j.written.Count {
		j.written = found.Displaced
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	if err := lines.Encode(header{j.written, j.lostUntil}); err != nil {
		return fmt.Errorf("encode the first line of the incidents: %w", err)
	}
	for _, s := range found.kept {
		if err := lines.Encode(s); err != nil {
			return fmt.Errorf("encode incident %s: %w", s.Incident.ID, err)
		}
	}
	j.rewritten = int64(text.Len())
	return replace(j.path, text.Bytes())
}

// SaveBeside replaces a file in the journal's directory, unless another process uses the journal.
func (j *Journal) SaveBeside(name string, text []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.open(); err != nil {
		return err
	}
	return replace(filepath.Join(filepath.Dir(j.path), name), text)
}

// replace writes a file atomically: after a crash it is either complete or unchanged.
func replace(path string, text []byte) error {
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		_ = os.Remove(temporary) // a partial file would fill the disk
		return fmt.Errorf("save incidents: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("save incidents: %w", err)
	}
	return nil
}

func (j *Journal) close() {
	_ = j.file.Close() // write errors were already reported
	j.file = nil
}

// Close lets another process use the journal.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		j.close()
	}
	if err := j.lock.Close(); err != nil {
		return fmt.Errorf("unlock the incidents: %w", err)
	}
	return nil
}
