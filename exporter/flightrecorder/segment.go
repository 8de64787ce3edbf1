package flightrecorder

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/recording"
)

const (
	suffix    = ".jsonl.gz"
	stampForm = "20060102T150405.000000Z"
)

// Segment is a file that can be read on its own, because it begins with lists of all objects.
type Segment struct {
	// Begins is the time of the first event.
	Begins time.Time
	// Size is the size of the file in bytes.
	Size int64

	path string
	// number increases with each new segment, even if the clock is set back.
	number int
}

// Segments returns the segments in a directory in the order of their creation.
func Segments(dir string) (all []Segment, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the recordings directory: %w", err)
	}
	for _, entry := range entries {
		s, ok := parseName(entry.Name())
		info, err := entry.Info()
		if !ok || err != nil {
			continue // another file, or a segment that has just been deleted
		}
		s.path, s.Size = filepath.Join(dir, entry.Name()), info.Size()
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.number, b.number), a.Begins.Compare(b.Begins))
	})
	return all, nil
}

// Head returns the result of Settings.Head at the beginning of the segment. It returns an error if the first line of the
// file is damaged.
func (s Segment) Head() (json.RawMessage, error) {
	r, err := recording.Open(s.path)
	if err != nil {
		return nil, err //nolint:wrapcheck // the error contains the path
	}
	defer r.Close()
	return r.Header().Head, nil
}

// End returns the time of the last readable event. It is zero if there is none. End reads the whole file.
func (s Segment) End() time.Time {
	readable, _ := stateAt(s, time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)) // recordings have no later events
	return readable.last
}

func nameOf(begins time.Time, number int) string {
	return fmt.Sprintf("%s-%06d%s", begins.UTC().Format(stampForm), number, suffix)
}

func parseName(name string) (s Segment, ok bool) {
	text, ok := strings.CutSuffix(name, suffix)
	stamp, digits, _ := strings.Cut(text, "-")
	begins, err := time.Parse(stampForm, stamp)
	number, numberErr := strconv.Atoi(digits)
	return Segment{Begins: begins, number: number}, ok && err == nil && numberErr == nil
}

// prune deletes the oldest segments until all together have at most size bytes, and none is older than age. It never
// deletes the newest segment.
func prune(all []Segment, size int64, age time.Duration) (kept []Segment, err error) {
	for len(all) > 1 && (sizeOf(all) > size || areApart(all, age)) {
		if err := os.Remove(all[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return all, fmt.Errorf("delete an old recording: %w", err)
		}
		all = all[1:]
	}
	return all, nil
}

func sizeOf(all []Segment) (size int64) {
	for _, s := range all {
		size += s.Size
	}
	return size
}

// areApart reports whether the two newest segments both began later than the two oldest ones, by at least a duration. One
// beginning alone proves nothing, because the clock may have been wrong. So a clock that is ahead deletes nothing until a
// second segment begins, usually two hours later.
func areApart(all []Segment, by time.Duration) bool {
	for _, newest := range all[len(all)-2:] {
		for _, oldest := range all[:2] {
			if newest.Begins.Sub(oldest.Begins) < by {
				return false
			}
		}
	}
	return true
}
