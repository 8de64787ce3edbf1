// Package renewals writes many Lease renewals as one line of a recording. Most events of a cluster are renewals. After
// compression, a renewal takes about 6 bytes, instead of about 40 bytes on its own line.
package renewals

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// maxEntries is the maximum number of renewals in one line.
const maxEntries = 1000

// maxOffset is the maximum of each of the two times in an entry (see the type `line`). If one of these times is longer,
// the event gets its own line.
const maxOffset = 365 * 24 * time.Hour

// line is the JSON of several renewals. An entry has four numbers. The first is the index of the Lease, in order of
// first appearance in the file. The second is the time since the previous entry, or since Seen for the first entry. The
// third is the time from the renewTime to the event. Both times are in microseconds. The fourth is the change of
// resourceVersion since the previous Lease event. It is missing if the Lease has no resourceVersion.
type line struct {
	Renewals [][]int64 `json:"renewals"`
	Seen     time.Time `json:"seen"`
}

// prefix is the start of every line of renewals. Lines with a single event never start with it.
const prefix = `{"renewals":`

// IsBatch reports whether a line of a recording contains renewals instead of an event.
func IsBatch(text []byte) bool {
	return len(text) > len(prefix) && string(text[:len(prefix)]) == prefix
}

// Leases holds the latest state of each Lease in a file. The writer and the reader of a line must have the same Leases,
// because a line contains only the changes of the Leases.
type Leases struct {
	index   map[event.UID]int
	known   []*event.Lease
	version uint64
	parser  parser
}

// Note stores the Lease of an event that has its own line.
func (l *Leases) Note(ev event.Event) {
	lease, ok := ev.Object.(*event.Lease)
	if !ok {
		return
	}
	if l.index == nil {
		l.index = map[event.UID]int{}
	}
	i, ok := l.index[lease.UID]
	if !ok {
		i = len(l.known)
		l.index[lease.UID] = i
		l.known = append(l.known, nil)
	}
	l.known[i] = lease
	if n, ok := number(lease.ResourceVersion); ok {
		l.version = n
	}
}

// Batch collects renewals for one line.
type Batch struct {
	leases  *Leases
	entries line
	last    time.Time
}

// NewBatch returns an empty batch for a file with these Leases.
func NewBatch(leases *Leases) *Batch { return &Batch{leases: leases} }

// Add adds the renewal of a known Lease to the batch. It returns false for all other events, and if the batch is full.
// The caller must then write the batch and the event, and call Note.
func (b *Batch) Add(ev event.Event) bool {
	lease, ok := ev.Object.(*event.Lease)
	if !ok || ev.Type != event.Modified || ev.Reason != "" || len(b.entries.Renewals) >= maxEntries {
		return false
	}
	i, ok := b.leases.index[lease.UID]
	if !ok || !renewed(b.leases.known[i], lease) || !inMicroseconds(ev.Seen, lease.RenewTime) {
		return false
	}
	if b.Empty() {
		b.entries.Seen, b.last = ev.Seen.UTC(), ev.Seen
	}
	since, age := ev.Seen.Sub(b.last), ev.Seen.Sub(lease.RenewTime)
	if since.Abs() > maxOffset || age.Abs() > maxOffset {
		return false
	}
	entry := []int64{int64(i), since.Microseconds(), age.Microseconds()}
	if version, ok := number(lease.ResourceVersion); ok {
		entry = append(entry, int64(version-b.leases.version))
		b.leases.version = version
	}
	b.entries.Renewals, b.last = append(b.entries.Renewals, entry), ev.Seen
	b.leases.known[i] = lease
	return true
}

// Empty reports whether the batch contains no renewals.
func (b *Batch) Empty() bool { return len(b.entries.Renewals) == 0 }

// Line encodes the batch as a line and empties the batch.
func (b *Batch) Line() ([]byte, error) {
	text, err := json.Marshal(b.entries)
	if err != nil {
		return nil, fmt.Errorf("encode renewals: %w", err)
	}
	b.entries.Renewals = b.entries.Renewals[:0]
	return append(text, '\n'), nil
}

// Events decodes the events of a line. The Leases must be in the same state as when the line was written.
func (l *Leases) Events(text []byte) ([]event.Event, error) {
	in, ok := l.parser.parse(text)
	if !ok {
		if err := json.Unmarshal(text, &in); err != nil {
			return nil, fmt.Errorf("renewals: %w", err)
		}
	}
	if len(in.Renewals) > maxEntries {
		return nil, fmt.Errorf("renewals: %d in one line exceed the limit of %d", len(in.Renewals), maxEntries)
	}
	seen := in.Seen.UTC()
	events := make([]event.Event, 0, len(in.Renewals))
	for n, entry := range in.Renewals {
		lease, err := l.lease(entry)
		if err != nil {
			return nil, fmt.Errorf("renewals: entry %d: %w", n+1, err)
		}
		seen = seen.Add(time.Duration(entry[1]) * time.Microsecond)
		lease.RenewTime = seen.Add(-time.Duration(entry[2]) * time.Microsecond)
		events = append(events, event.Event{Seen: seen, Kind: event.KindLease, Type: event.Modified, Object: lease})
	}
	return events, nil
}

// lease returns a copy of the entry's Lease with the resourceVersion from the entry.
func (l *Leases) lease(entry []int64) (*event.Lease, error) {
	switch {
	case len(entry) != 3 && len(entry) != 4:
		return nil, fmt.Errorf("%d numbers instead of 3 or 4", len(entry))
	case entry[0] < 0 || entry[0] >= int64(len(l.known)):
		return nil, fmt.Errorf("index %d of a Lease is out of range", entry[0])
	case outOfRange(entry[1]) || outOfRange(entry[2]):
		return nil, errors.New("an offset exceeds one year")
	}
	lease := *l.known[entry[0]]
	if _, versioned := number(lease.ResourceVersion); versioned != (len(entry) == 4) {
		return nil, errors.New("the resourceVersion is missing, or the Lease has none")
	}
	if len(entry) == 4 {
		l.version += uint64(entry[3])
		lease.ResourceVersion = strconv.FormatUint(l.version, 10)
	}
	l.known[entry[0]] = &lease
	return &lease, nil
}

func outOfRange(microseconds int64) bool {
	const most = int64(maxOffset / time.Microsecond)
	return microseconds > most || microseconds < -most
}

// renewed reports whether two states of a Lease differ only in renewTime and resourceVersion.
func renewed(before, after *event.Lease) bool {
	b, a := *before, *after
	_, was := number(b.ResourceVersion)
	_, is := number(a.ResourceVersion)
	b.RenewTime, b.ResourceVersion, a.RenewTime, a.ResourceVersion = time.Time{}, "", time.Time{}, ""
	return a == b && was == is && (is || before.ResourceVersion == after.ResourceVersion)
}

func inMicroseconds(times ...time.Time) bool {
	for _, t := range times {
		if t.IsZero() || t.Nanosecond()%int(time.Microsecond) != 0 {
			return false
		}
	}
	return true
}

// number converts a resourceVersion. It returns false if the text is not a number in canonical form.
func number(version string) (uint64, bool) {
	n, err := strconv.ParseUint(version, 10, 63)
	return n, err == nil && strconv.FormatUint(n, 10) == version && n < math.MaxInt64
}
