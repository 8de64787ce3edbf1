// Package journal saves incidents in a file, so that they survive a restart.
package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// maxLine is the maximum length of a line in bytes. An incident usually needs a few kilobytes, because its lists
	// are bounded.
	maxLine = 4 << 20
	// rewriteAbove is the minimum size at which the file is rewritten. The file must also have doubled since the last
	// rewrite.
	rewriteAbove = 4 << 20
	// writeSize is the size of the read and write buffers in bytes. The line of a single incident usually fits into one
	// buffer.
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
	// lines holds the newest line of each incident. It is nil if the file must be read first. length is the size of the
	// file in bytes. rewritten is the size after the last rewrite.
	lines             lines
	length, rewritten int64
	// pending is the set of incidents that could not be written yet, by ID.
	pending   map[string]archive.Saved
	displaced incident.Displaced
	// written is the number of displaced incidents in the file's header.
	written incident.Displaced
	// exists is set if Open found a file. damage describes the damage to that file. Incidents from before lostUntil may
	// be missing because of damage.
	exists    bool
	damage    string
	lostUntil time.Time
	// removed is set if the file was deleted or damaged while it was in use.
	removed atomic.Bool
}

// Open returns the newest incidents in a file, sorted by start. It returns at most size incidents. If the file does not
// exist, Open returns no incidents, and the first Save creates the file. Open skips lines that cannot be parsed (see
// Damage).
func Open(path string, size int) (*Journal, []archive.Saved, error) {
	j := &Journal{path: path, size: size, pending: map[string]archive.Saved{}, lock: flock.New(lockOf(path), flock.SetPermissions(0o600))}
	found, err := load(path)
	kept, displaced := found.newest(size)
	j.displaced, j.written, j.lostUntil = displaced, found.Displaced, found.LostUntil
	j.exists, j.damage = found.exists, found.damage()
	return j, kept, err
}

// Damage describes why incidents may be missing from the file, or returns an empty string. Set existed to true if an
// earlier process created the file. A missing file then counts as damage.
func (j *Journal) Damage(existed bool) string {
	if !j.exists && existed {
		return "the file does not exist"
	}
	return j.damage
}

// MarkLostUntil notes that incidents from before a time may be missing because of damage. The next rewrite of the file
// stores this time for later processes.
func (j *Journal) MarkLostUntil(until time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lostUntil = latest(j.lostUntil, until)
}

// LostUntil returns the time before which incidents may be missing because of damage. The damage may have been found by
// an earlier process. LostUntil returns zero if no incident is missing.
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

// Displaced returns the number of incidents that newer incidents have displaced from the file.
func (j *Journal) Displaced() incident.Displaced { return j.displaced }

// Save writes the state of incidents at a point in time. If a write fails, the next Save tries again. Without
// incidents, Save only stores the time, which shows that the process was still running.
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
		// Ignore errors. The time of the previous Save then remains as an estimate.
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
		return false // TryLock would create the lock file, but only Save may do that
	}
	locked, err := j.lock.TryLock()
	if locked {
		_ = j.lock.Close() // the next Save locks it again
	}
	return err == nil && !locked
}

// Removed reports whether the file was deleted or damaged since the previous call of Removed. If so, the caller should
// save all incidents again.
func (j *Journal) Removed() bool { return j.removed.Swap(false) }

func (j *Journal) write() error {
	if err := j.open(); err != nil {
		return err
	}
	// Many ongoing incidents can take megabytes, so do not encode them in memory.
	out := bufio.NewWriterSize(j.file, writeSize)
	written, length, err := encode(out, j.length, j.pending)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		j.close()
		j.lines = nil // the file may contain a partial line
		return fmt.Errorf("save incidents: %w", err)
	}
	maps.Copy(j.lines, written)
	j.length = length
	clear(j.pending)
	return nil
}

// encode writes one line for each incident. The first line begins at offset. encode returns the lines and the position
// after the last line.
func encode(out io.Writer, offset int64, all map[string]archive.Saved) (written lines, end int64, err error) {
	counter := &countingWriter{Writer: out, length: offset}
	encoder, written := json.NewEncoder(counter), lines{}
	for id, s := range all {
		begin := counter.length
		if err := encoder.Encode(s); err != nil {
			return nil, 0, fmt.Errorf("encode incident %s: %w", id, err)
		}
		written[id] = lineOf(&s, begin, counter.length-begin-1)
	}
	return written, counter.length, nil
}

// countingWriter counts the bytes that are written to the Writer.
type countingWriter struct {
	io.Writer
	length int64
}

func (c *countingWriter) Write(text []byte) (int, error) {
	n, err := c.Writer.Write(text)
	c.length += int64(n)
	return n, err //nolint:wrapcheck // the caller wraps it
}

// open opens the file for writing. It returns an error if another process uses the journal.
func (j *Journal) open() error {
	if j.file != nil {
		if j.intact() && j.length < max(rewriteAbove, 2*j.rewritten) {
			return nil
		}
		j.close()
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

// intact reports whether the file still has the size that it had after the last write of this process. If not, intact
// drops j.lines, so that the file is read again.
func (j *Journal) intact() bool {
	info, err := os.Stat(j.path)
	if err == nil && info.Size() == j.length {
		return true
	}
	j.lines = nil
	gone := errors.Is(err, fs.ErrNotExist)
	if gone {
		_ = j.lock.Close() // the lock file may be gone too
	}
	if gone || err == nil && info.Size() < j.length {
		j.removed.Store(true)
	}
	return false
}

// rewrite replaces the file with one that contains only a header and the newest line of each incident.
func (j *Journal) rewrite() error {
	if j.lines == nil {
		if err := j.load(); err != nil {
			return err
		}
	}
	kept, displaced := j.lines.newest(j.size)
	displaced.Add(j.written)
	copied, length := lines{}, int64(0)
	err := replace(j.path, func(out io.Writer) (err error) {
		counter := &countingWriter{Writer: out}
		if err := json.NewEncoder(counter).Encode(header{displaced, j.lostUntil}); err != nil {
			return fmt.Errorf("encode the first line: %w", err)
		}
		copied, err = copyLines(counter, j.path, kept)
		length = counter.length
		return err
	})
	if err != nil {
		j.lines = nil // the next attempt reads them again
		return err
	}
	j.written, j.lines, j.length, j.rewritten = displaced, copied, length, length
	return nil
}

func (j *Journal) load() error {
	found, err := load(j.path)
	if err != nil {
		return err
	}
	if found.damaged > 0 {
		j.removed.Store(true)
	}
	if found.Displaced.Count > j.written.Count {
		j.written = found.Displaced
	}
	j.lostUntil = latest(j.lostUntil, found.LostUntil)
	j.lines = found.lines
	return nil
}

// copyLines copies lines of a file. It returns their new positions.
func copyLines(out *countingWriter, path string, kept []line) (copied lines, err error) {
	copied = lines{}
	if len(kept) == 0 {
		return copied, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the saved incidents: %w", err)
	}
	defer func() { _ = file.Close() }() // the file was only read
	var text []byte
	for _, x := range kept {
		text = slices.Grow(text[:0], int(x.length)+1)[:x.length]
		if _, err := file.ReadAt(text, x.offset); err != nil {
			return nil, fmt.Errorf("read the saved incidents in %s: %w", path, err)
		}
		x.offset = out.length
		copied[x.id] = x
		if _, err := out.Write(append(text, '\n')); err != nil {
			return nil, err
		}
	}
	return copied, nil
}

// SaveBeside replaces a file in the journal's directory. It returns an error if another process uses the journal.
func (j *Journal) SaveBeside(name string, text []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.open(); err != nil {
		return err
	}
	return replace(filepath.Join(filepath.Dir(j.path), name), func(out io.Writer) error {
		_, err := out.Write(text)
		return err //nolint:wrapcheck // replace wraps it
	})
}

// replace writes a file atomically. After a crash, the file is either complete or unchanged.
func replace(path string, write func(io.Writer) error) error {
	temporary := path + ".tmp"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("save incidents: %w", err)
	}
	out := bufio.NewWriterSize(file, writeSize)
	if err = write(out); err == nil {
		err = out.Flush()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		_ = os.Remove(temporary) // a partial file would fill the disk
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
	j.lines = nil // another process may change the file
	if err := j.lock.Close(); err != nil {
		return fmt.Errorf("unlock the incidents: %w", err)
	}
	return nil
}
