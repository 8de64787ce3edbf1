package flightrecorder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// role describes the content of a file.
type role string

const (
	// A roleStart file begins with lists of all resources.
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
	// lockName is the name of the file that the recording process locks.
	lockName = "lock"
)

// file is a recording in the directory.
type file struct {
	path   string
	begins time.Time
	// number increases with each new file, even if the clock is set back. A state file has the number of the file that
	// follows it.
	number int
	role   role
	size   int64
}

func pathOf(dir string, begins time.Time, number int, r role) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%06d-%s%s", begins.UTC().Format(stampForm), number, r, suffix))
}

func parseName(name string) (f file, ok bool) {
	text, ok := strings.CutSuffix(name, suffix)
	parts := strings.Split(text, "-")
	if !ok || len(parts) != 3 {
		return f, false
	}
	begins, err := time.Parse(stampForm, parts[0])
	number, numberErr := strconv.Atoi(parts[1])
	f = file{begins: begins, number: number, role: role(parts[2])}
	return f, err == nil && numberErr == nil && (f.role == roleStart || f.role == roleNext || f.role == roleState)
}

// isBase reports whether a replay can begin with this file.
func (f file) isBase() bool { return f.role != roleNext }

// filesOf returns the recordings in a directory in the order of their creation. It ignores files with other names.
func filesOf(dir string) ([]file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the recordings directory: %w", err)
	}
	var all []file
	for _, entry := range entries {
		f, ok := parseName(entry.Name())
		info, err := entry.Info()
		if !ok || err != nil {
			continue
		}
		f.path, f.size = filepath.Join(dir, entry.Name()), info.Size()
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b file) int {
		// A state file comes before the file whose start it describes.
		return cmp.Or(cmp.Compare(a.number, b.number), a.begins.Compare(b.begins), cmp.Compare(b.role, a.role))
	})
	return all, nil
}

// deleteUnfinished deletes temporary files that a killed process left behind.
func deleteUnfinished(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("read the recordings directory: %w", err)
	}
	for _, entry := range entries {
		name, ok := strings.CutSuffix(entry.Name(), temporary)
		if _, isRecording := parseName(name); !ok || !isRecording && name != keyName {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return fmt.Errorf("delete an unfinished recording: %w", err)
		}
	}
	return nil
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

// prune deletes generations that ended before the given cutoff time. If all files together still have more than size
// bytes, prune also deletes the oldest generations. It never deletes the newest generation.
func prune(all []file, size int64, oldest time.Time) (kept []file, err error) {
	var total int64
	for _, f := range all {
		total += f.size
	}
	generations := generationsOf(all)
	for i, g := range generations {
		if i == len(generations)-1 || total <= size && g.endsAfter(oldest, generations[i+1]) {
			kept = append(kept, g...)
			continue
		}
		for _, f := range g {
			if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return all, fmt.Errorf("delete an old recording: %w", err)
			}
			total -= f.size
		}
	}
	return kept, nil
}
