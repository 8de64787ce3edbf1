package decode

import (
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// message iterates over the fields of a protobuf message.
type message struct {
	reader *fieldReader
	rest   []byte

	// `number` is the number of the current protobuf field. The value is in `bytes` or in `varint`, depending on the
	// wire type.
	number protowire.Number
	bytes  []byte
	varint uint64
}

// next advances to the next field. It returns false at the end of the message and after an error.
func (m *message) next() bool {
	if len(m.rest) == 0 {
		return false
	}
	tag, ok := m.consumeVarint()
	if !ok {
		return false
	}
	wireType := protowire.Type(tag & 7)
	m.number, m.bytes, m.varint = protowire.Number(tag>>3), nil, 0
	switch wireType {
	case protowire.BytesType:
		length, ok := m.consumeVarint()
		if !ok || length > uint64(len(m.rest)) {
			return m.fail(io.ErrUnexpectedEOF)
		}
		m.bytes, m.rest = m.rest[:length], m.rest[length:]
	case protowire.VarintType:
		m.varint, ok = m.consumeVarint()
		return ok
	default:
		n := protowire.ConsumeFieldValue(m.number, wireType, m.rest)
		if n < 0 {
			return m.fail(protowire.ParseError(n))
		}
		m.rest = m.rest[n:]
	}
	return true
}

// consumeVarint has a fast path for numbers of one byte, because most numbers are that short. Decoding spends most of
// its CPU time here.
func (m *message) consumeVarint() (value uint64, ok bool) {
	if len(m.rest) > 0 && m.rest[0] < 0x80 {
		value, m.rest = uint64(m.rest[0]), m.rest[1:]
		return value, true
	}
	value, n := protowire.ConsumeVarint(m.rest)
	if n < 0 {
		return 0, m.fail(protowire.ParseError(n))
	}
	m.rest = m.rest[n:]
	return value, true
}

func (m *message) fail(err error) bool {
	m.rest = nil
	m.reader.err = err
	return false
}

func (m *message) text() string { return m.reader.text(m.bytes) }

func (m *message) bool() bool { return m.varint != 0 }

func (m *message) int32() int32 { return int32(m.varint) }

func (m *message) metaTime() time.Time { return m.reader.metaTime(m.bytes) }

// metaTime decodes a metav1.Time in UTC. If the field is absent, it returns the zero time. Like the API's decoders, it
// ignores fractions of a second.
func (r *fieldReader) metaTime(data []byte) time.Time {
	if len(data) == 0 {
		return time.Time{}
	}
	seconds, _ := r.timestamp(data)
	return inCalendar(time.Unix(seconds, 0))
}

// metaMicroTime decodes a metav1.MicroTime in UTC. If the field is absent, it returns the zero time. Like the API's
// decoders, it truncates to microseconds.
func (r *fieldReader) metaMicroTime(data []byte) time.Time {
	if len(data) == 0 {
		return time.Time{}
	}
	seconds, nanos := r.timestamp(data)
	return inCalendar(time.Unix(seconds, int64(nanos.Truncate(time.Microsecond))))
}

// inCalendar converts a time to UTC. The API server accepts times whose year in UTC is outside 0 to 9999. Recordings
// cannot contain such times, because JSON does not support them. inCalendar therefore returns the first or last second
// of the range.
func inCalendar(t time.Time) time.Time {
	switch t = t.UTC(); {
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 0:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return t
}

func (r *fieldReader) timestamp(data []byte) (seconds int64, nanos time.Duration) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			seconds = int64(m.varint)
		case 2:
			nanos = time.Duration(m.int32())
		}
	}
	return seconds, nanos
}
