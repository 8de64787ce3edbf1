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

// Most events of a cluster are renewals of Leases. A compressed recording has many renewals in one line, for example:
//
//	{"renewals":[[12,0,4096,7],[40,3120,3877,2]],"seen":"2026-03-01T12:00:08.3Z"}
//
// An entry has four numbers. The first is the index of the Lease, in order of first appearance in the file. The second is
// the time since the previous entry, or since `seen` for the first entry. The third is the time from the renewTime to the
// event. Both times are in microseconds. The fourth is the change of resourceVersion since the previous Lease event. It is
// missing if the Lease has no resourceVersion.
//
// After compression, a renewal takes about 6 bytes, instead of about 40 bytes on its own line.

const (
	// maxRenewals is the maximum number of renewals in one line.
	maxRenewals = 1000
	// maxOffset is the maximum of each of the two times in an entry. If one of them is longer, the event gets its own
	// line.
	maxOffset = 365 * 24 * time.Hour

	renewalsBegin = `{"renewals":[[`
	renewalsSeen  = `]],"seen":"`
	renewalsEnd   = `"}`
)

// isRenewals reports whether a line of a recording contains renewals instead of an event.
func isRenewals(text []byte) bool { return bytes.HasPrefix(text, []byte(renewalsBegin)) }

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
	// `entries` is the text of the entries, and size is their number.
	entries []byte
	size    int
	// `seen` and `last` are the times of the first and the last event.
	seen, last time.Time
}

// add adds the renewal of a known Lease to the batch. It returns false for all other events, and if the batch is full.
// The caller must then write the batch and the event, and call note.
func (b *batch) add(ev event.Event) bool {
	lease, ok := ev.Object.(*event.Lease)
	if !ok || ev.Type != event.Modified || ev.Reason != "" || b.size >= maxRenewals {
		return false
	}
	i, ok := b.index[lease.UID]
	if !ok || !renewed(b.known[i], lease) || !inMicroseconds(ev.Seen) || !inMicroseconds(lease.RenewTime) {
		return false
	}
	if b.size == 0 {
		b.seen, b.last = ev.Seen, ev.Seen
	}
	since, age := ev.Seen.Sub(b.last), ev.Seen.Sub(lease.RenewTime)
	if since.Abs() > maxOffset || age.Abs() > maxOffset {
		return false
	}
	if b.size > 0 {
		b.entries = append(b.entries, "],["...)
	}
	b.entries = strconv.AppendInt(b.entries, int64(i), 10)
	b.entries = strconv.AppendInt(append(b.entries, ','), since.Microseconds(), 10)
	b.entries = strconv.AppendInt(append(b.entries, ','), age.Microseconds(), 10)
	if version, ok := number(lease.ResourceVersion); ok {
		b.entries = strconv.AppendInt(append(b.entries, ','), int64(version-b.version), 10)
		b.version = version
	}
	b.known[i], b.last = lease, ev.Seen
	b.size++
	return true
}

// line encodes the batch as a line and empties the batch. It returns nil if the batch is empty.
func (b *batch) line() []byte {
	if b.size == 0 {
		return nil
	}
	text := append([]byte(renewalsBegin), b.entries...)
	text = b.seen.UTC().AppendFormat(append(text, renewalsSeen...), time.RFC3339Nano)
	b.entries, b.size = b.entries[:0], 0
	return append(text, renewalsEnd+"\n"...)
}

// renewals decodes the events of a line. The leases must be in the same state as when the line was written.
func (l *leases) renewals(text []byte) (events []event.Event, err error) {
	entries, end, _ := bytes.Cut(text[len(renewalsBegin):], []byte(renewalsSeen))
	begin, ok := bytes.CutSuffix(bytes.TrimSpace(end), []byte(renewalsEnd))
	var seen time.Time
	if !ok || seen.UnmarshalText(begin) != nil {
		return nil, errors.New("renewals: bad line")
	}
	seen = seen.UTC()
	for entry := range bytes.SplitSeq(entries, []byte("],[")) {
		if len(events) == maxRenewals {
			return nil, fmt.Errorf("renewals: more than %d in one line", maxRenewals)
		}
		lease, since, age, err := l.renew(entry)
		if err != nil {
			return nil, fmt.Errorf("renewals: entry %d: %w", len(events)+1, err)
		}
		seen = seen.Add(since)
		lease.RenewTime = seen.Add(-age)
		events = append(events, event.Event{Seen: seen, Kind: event.KindLease, Type: event.Modified, Object: lease})
	}
	return events, nil
}

// renew returns a copy of the entry's Lease with the resourceVersion from the entry, and the two times of the entry.
func (l *leases) renew(entry []byte) (lease *event.Lease, since, age time.Duration, err error) {
	n, length, err := numbers(entry)
	switch {
	case err != nil:
		return nil, 0, 0, err
	case n[0] < 0 || n[0] >= int64(len(l.known)):
		return nil, 0, 0, fmt.Errorf("index %d of a Lease is out of range", n[0])
	case outOfRange(n[1]) || outOfRange(n[2]):
		return nil, 0, 0, errors.New("an offset exceeds one year")
	}
	renewed := *l.known[n[0]]
	if _, versioned := number(renewed.ResourceVersion); versioned != (length == 4) {
		return nil, 0, 0, errors.New("the resourceVersion is missing, or the Lease has none")
	}
	if length == 4 {
		l.version += uint64(n[3])
		renewed.ResourceVersion = strconv.FormatUint(l.version, 10)
	}
	l.known[n[0]] = &renewed
	return &renewed, time.Duration(n[1]) * time.Microsecond, time.Duration(n[2]) * time.Microsecond, nil
}

// numbers parses the three or four numbers of an entry.
func numbers(entry []byte) (n [4]int64, length int, err error) {
	for text := range bytes.SplitSeq(entry, []byte{','}) {
		if length == len(n) {
			return n, 0, errors.New("more than 4 numbers")
		}
		if n[length], err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return n, 0, fmt.Errorf("%.40q is not a number", text)
		}
		length++
	}
	if length < 3 {
		return n, 0, errors.New("less than 3 numbers")
	}
	return n, length, nil
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

func inMicroseconds(t time.Time) bool {
	return !t.IsZero() && t.Nanosecond()%int(time.Microsecond) == 0
}

// number converts a resourceVersion. It returns false if the text is not a number in canonical form.
func number(version string) (uint64, bool) {
	n, err := strconv.ParseUint(version, 10, 63)
	return n, err == nil && strconv.FormatUint(n, 10) == version && n < math.MaxInt64
}
