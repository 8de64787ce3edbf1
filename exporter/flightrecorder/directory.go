package flightrecorder

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// role is the kind of content at the start of a file.
type role string

const (
	// A roleStart file begins with the first lists of the watches.
	roleStart role = "start"
	// A roleNext file continues the previous file.
	roleNext role = "next"
	// A roleState file contains only the state of all objects at the start of the next file.
	roleState role = "state"
)

const (
	suffix    = ".jsonl.gz"
	temporary = ".tmp"
	stampForm = "20060102T150405.000000Z"
	// lockName is the file that is locked by the process that writes into the directory.
	lockName = "lock"
)

// file is a recording in the directory.
type file struct {
	path   string
	begins time.Time
	role   role
	size   int64
}

func pathOf(dir string, begins time.Time, r role) string {
	return filepath.Join(dir, begins.UTC().Format(stampForm)+"-"+string(r)+suffix)
}

// isBase reports whether a replay can begin with this file.
func (f file) isBase() bool { return f.role != roleNext }

// filesOf returns the recordings in a directory in reading order. It ignores files with other names.
func filesOf(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the recordings directory: %w", err)
	}
	var all []file
	for _, entry := range entries {
		stamp, rest, _ := strings.Cut(entry.Name(), "-")
		text, ok := strings.CutSuffix(rest, suffix)
		begins, err := time.Parse(stampForm, stamp)
		info, infoErr := entry.Info()
		r := role(text)
		if !ok || err != nil || infoErr != nil || r != roleStart && r != roleNext && r != roleState {
			continue
		}
		all = append(all, file{filepath.Join(dir, entry.Name()), begins, r, info.Size()})
	}
	slices.SortFunc(all, func(a, b file) int {
		// A state file comes before the file that begins at the same time.
		return cmp.Or(a.begins.Compare(b.begins), cmp.Compare(b.role, a.role))
	})
	return all, nil
}

// LastWrite returns the time of the last write into a directory, or the zero time if there was none.
func LastWrite(dir string) (last time.Time) {
	all, err := filesOf(dir)
	if err != nil {
		return time.Time{} // nothing was recorded
	}
	for _, f := range all {
		if info, err := os.Stat(f.path); err == nil && f.role != roleState && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

// prune deletes the oldest generations while the files are larger than size bytes in total, and all generations that
// ended before oldest. A generation is a base and the files up to the next base. prune keeps the newest generation, and
// returns the remaining files.
func prune(all []file, size int64, oldest time.Time) ([]file, error) {
	var total int64
	for _, f := range all {
		total += f.size
	}
	for {
		next := slices.IndexFunc(all[min(1, len(all)):], file.isBase) + 1
		if next == 0 || total <= size && all[next].begins.After(oldest) {
			return all, nil
		}
		for _, f := range all[:next] {
			if err := os.Remove(f.path); err != nil {
				return all, fmt.Errorf("delete an old recording: %w", err)
			}
			total -= f.size
		}
		all = all[next:]
	}
}
