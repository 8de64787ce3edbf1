package recording

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// renewals is a line with many renewals of Leases, which are most events of a cluster. Compressed recordings have such
// lines, for example:
//
//	{"renewals":[[12,0,4096,7],[40,3120,3877,2]],"seen":"2026-03-01T12:00:08.3Z"}
//
// After compression, a renewal takes about 6 bytes, instead of about 40 bytes on its own line.
type renewals struct {
	Entries []entry   `json:"renewals"`
	Seen    time.Time `json:"seen"`
}

// entry is one renewal. The first number is the index of the Lease, in order of first appearance in the file. The second
// is the time since the previous entry, or since Seen for the first entry. The third is the time from the renewTime to the
// event. Both times are in microseconds. The fourth is the change of resourceVersion since the previous Lease event. It is
// ignored if the Lease has no resourceVersion.
type entry [4]int64

const (
	// maxRenewals is the maximum number of renewals in one line.
	maxRenewals = 1000
	// maxOffset is the maximum of each of the two times in an entry. If one of them is longer, the event gets its own
	// line.
	maxOffset = 365 * 24 * time.Hour
)

// isRenewals reports whether a line of a recording contains renewals instead of an event.
func isRenewals(text []byte) bool { return bytes.HasPrefix(text, []byte(`{"renewals":`)) }

// leases holds the latest state of each Lease in a file. The writer and the reader of a line must have the same leases,
// because a line contains only the changes of the Leases.
type leases struct {
	index   map[event.UID]int
	known   []*event.Lease
	version uint64
}

// note stores the Lease of an event that has its own line.
func (l *leases) note(ev event.Event) {
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

// batch collects renewals for one line.
type batch struct {
	leases
	// text holds the entries. Entries is their number, and seen is the time of the first event.
	text    []byte
	entries int
	seen    time.Time
	// last is the time of the last event.
	last time.Time
}

// add adds the renewal of a known Lease to the batch. It returns false for all other events, and if the batch is full.
// The caller must then write the batch and the event, and call note.
func (b *batch) add(ev event.Event) bool {
	lease, ok := ev.Object.(*event.Lease)
	if !ok || ev.Type != event.Modified || ev.Reason != "" || b.entries >= maxRenewals {
		return false
	}
	i, ok := b.index[lease.UID]
	if !ok || !renewed(b.known[i], lease) || !inMicroseconds(ev.Seen) || !inMicroseconds(lease.RenewTime) {
		return false
	}
	if b.entries == 0 {
		b.seen, b.last = ev.Seen, ev.Seen
	}
	since, age := ev.Seen.Sub(b.last), ev.Seen.Sub(lease.RenewTime)
	if since.Abs() > maxOffset || age.Abs() > maxOffset {
		return false
	}
	e := entry{int64(i), since.Microseconds(), age.Microseconds()}
	if version, ok := number(lease.ResourceVersion); ok {
		e[3], b.version = int64(version-b.version), version
	}
	b.text, b.entries = appendEntry(b.text, e), b.entries+1
	b.known[i], b.last = lease, ev.Seen
	return true
}

func appendEntry(text []byte, e entry) []byte {
	text = append(text, `,[`...)
	for i, n := range e {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, n, 10)
	}
	return append(text, ']')
}

// take appends the line with the collected renewals, and removes them from the batch.
func (b *batch) take(text []byte) []byte {
	text = append(append(text, `{"renewals":[`...), b.text[1:]...)
	text = appendTime(append(text, `],"seen":`...), b.seen.UTC())
	b.text, b.entries = b.text[:0], 0
	return append(text, '}', '\n')
}

// events returns the events of a line. The leases must be in the same state as when the line was written.
func (l *leases) events(line renewals) (events []event.Event, err error) {
	if len(line.Entries) > maxRenewals {
		return nil, fmt.Errorf("more than %d renewals", maxRenewals)
	}
	seen := line.Seen.UTC()
	events = make([]event.Event, 0, len(line.Entries))
	for n, e := range line.Entries {
		since, age := time.Duration(e[1])*time.Microsecond, time.Duration(e[2])*time.Microsecond
		switch {
		case e[0] < 0 || e[0] >= int64(len(l.known)):
			err = errors.New("the Lease is unknown")
		case since.Microseconds() != e[1] || since.Abs() > maxOffset, age.Microseconds() != e[2] || age.Abs() > maxOffset:
			err = errors.New("an offset exceeds one year")
		default:
			seen = seen.Add(since)
			err = checkSeen(seen)
		}
		if err != nil {
			return nil, fmt.Errorf("renewal %d: %w", n+1, err)
		}
		lease := *l.known[e[0]]
		if _, ok := number(lease.ResourceVersion); ok {
			l.version += uint64(e[3])
			lease.ResourceVersion = strconv.FormatUint(l.version, 10)
		}
		lease.RenewTime = seen.Add(-age)
		l.known[e[0]] = &lease
		events = append(events, event.Event{Seen: seen, Kind: event.KindLease, Type: event.Modified, Object: &lease})
	}
	return events, nil
}

// renewed reports whether two states of a Lease differ only in renewTime and resourceVersion.
func renewed(before, after *event.Lease) bool {
	b, a := *before, *after
	_, was := number(b.ResourceVersion)
	_, is := number(a.ResourceVersion)
	b.RenewTime, b.ResourceVersion, a.RenewTime, a.ResourceVersion = time.Time{}, "", time.Time{}, ""
	return a == b && was == is && (is || before.ResourceVersion == after.ResourceVersion)
}

func inMicroseconds(t time.Time) bool {
	return !t.IsZero() && t.Nanosecond()%int(time.Microsecond) == 0
}

// number converts a resourceVersion. It returns false if the text is not a number in canonical form.
func number(version string) (uint64, bool) {
	n, err := strconv.ParseUint(version, 10, 63)
	return n, err == nil && (version[0] != '0' || version == "0") && n < math.MaxInt64
}
