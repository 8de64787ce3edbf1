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

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

const (
	suffix    = ".jsonl.gz"
	stampForm = "20060102T150405.000000Z"
	// unfinished is the name of a segment whose lists are incomplete.
	unfinished = "unfinished" + suffix
	// lockName is the name of the file that the recording process locks.
	lockName = "lock"
)

// Segment is a file that can be read on its own, because it begins with lists of all objects.
type Segment struct {
	// Begins is the time of the first event.
	Begins time.Time
	// Size is the size of the file in bytes.
	Size int64
	// Head is the result of Settings.Head at the beginning of the segment.
	Head json.RawMessage

	path string
	// number increases with each new segment, even if the clock is set back.
	number int
}

// Segments returns the segments in a directory in the order of their creation. It leaves out files whose first line is
// damaged.
func Segments(dir string) (all []Segment, err error) {
	found, err := segmentsIn(dir)
	if err != nil {
		return nil, err
	}
	for _, s := range found {
		if header, err := s.header(); err == nil {
			s.Head = header.Head
			all = append(all, s)
		}
	}
	return all, nil
}

func (s Segment) header() (recording.Header, error) {
	r, err := recording.Open(s.path)
	if err != nil {
		return recording.Header{}, err //nolint:wrapcheck // the error contains the path
	}
	_ = r.Close() // the file was only read
	return r.Header(), nil
}

// events returns the events of a segment. If the file cannot be read completely, the last item is an error.
func (s Segment) events() eventSeq {
	return func(yield func(event.Event, error) bool) {
		r, err := recording.Open(s.path)
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		defer func() { _ = r.Close() }() // the file was only read
		for ev, err := range r.Events() {
			if !yield(ev, err) {
				return
			}
		}
	}
}

// segmentsIn returns the segments in a directory without their heads. It ignores other files.
func segmentsIn(dir string) (all []Segment, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the recordings directory: %w", err)
	}
	for _, entry := range entries {
		s, ok := parseName(entry.Name())
		info, err := entry.Info()
		if !ok || err != nil {
			continue
		}
		s.path, s.Size = filepath.Join(dir, entry.Name()), info.Size()
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Segment) int {
		return cmp.Or(cmp.Compare(a.number, b.number), a.Begins.Compare(b.Begins))
	})
	return all, nil
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

// prune deletes segments that are older than age. If all segments together still have more than size bytes, it also
// deletes the oldest ones. It never deletes the newest segment.
//
// The age is not measured by the current time, because a wrong clock would then delete everything. It is measured by the
// two newest segments: a clock that is ahead deletes nothing until a second segment begins, usually two hours later.
func prune(all []Segment, size int64, age time.Duration) (kept []Segment, err error) {
	if len(all) < 2 {
		return all, nil
	}
	newest := all[len(all)-1].Begins
	if previous := all[len(all)-2].Begins; previous.Before(newest) {
		newest = previous
	}
	oldest := newest.Add(-age)
	var total int64
	for _, s := range all {
		total += s.Size
	}
	for i, s := range all {
		// The beginning of the next segment alone does not prove that a segment is old: the clock may have been set back.
		if i == len(all)-1 || total <= size && (all[i+1].Begins.After(oldest) || s.Begins.After(oldest)) {
			kept = append(kept, s)
			continue
		}
		if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return all, fmt.Errorf("delete an old recording: %w", err)
		}
		total -= s.Size
	}
	return kept, nil
}

// oldest returns the time of the oldest event in the segments, or the zero time if there is none.
func oldest(all []Segment) (begin time.Time) {
	for _, s := range all {
		if begin.IsZero() || s.Begins.Before(begin) {
			begin = s.Begins
		}
	}
	return begin
}
