package decode

import (
	"io"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// message walks over the fields of one message.
type message struct {
	reader *Reader
	rest   []byte

	// number is the present field's. Its value is in bytes or in varint; where the
	// wire has it in the other form than expected it reads as zero.
	number protowire.Number
	bytes  []byte
	varint uint64
}

// next goes to the next field; false at the end, and where the bytes are no message.
func (m *message) next() bool {
	if len(m.rest) == 0 {
		return false
	}
	tag, ok := m.take()
	if !ok {
		return false
	}
	kind := protowire.Type(tag & 7)
	m.number, m.bytes, m.varint = protowire.Number(tag>>3), nil, 0
	switch kind {
	case protowire.BytesType:
		length, ok := m.take()
		if !ok || length > uint64(len(m.rest)) {
			return m.broken(io.ErrUnexpectedEOF)
		}
		m.bytes, m.rest = m.rest[:length], m.rest[length:]
	case protowire.VarintType:
		m.varint, ok = m.take()
		return ok
	default:
		n := protowire.ConsumeFieldValue(m.number, kind, m.rest)
		if n < 0 {
			return m.broken(protowire.ParseError(n))
		}
		m.rest = m.rest[n:]
	}
	return true
}

// take takes a number off the rest. Most are of one byte, and this is where the time goes.
func (m *message) take() (value uint64, ok bool) {
	if len(m.rest) > 0 && m.rest[0] < 0x80 {
		value, m.rest = uint64(m.rest[0]), m.rest[1:]
		return value, true
	}
	value, n := protowire.ConsumeVarint(m.rest)
	if n < 0 {
		return 0, m.broken(protowire.ParseError(n))
	}
	m.rest = m.rest[n:]
	return value, true
}

func (m *message) broken(err error) bool {
	m.rest = nil
	m.reader.err = err
	return false
}

func (m *message) text() string { return m.reader.text(m.bytes) }

func (m *message) bool() bool { return m.varint != 0 }

func (m *message) int32() int32 { return int32(m.varint) }

// seconds is a metav1.Time in UTC, zero where it is not set. Its decoders ignore the fraction.
func (m *message) seconds() time.Time {
	if len(m.bytes) == 0 {
		return time.Time{}
	}
	seconds, _ := m.timestamp()
	return time.Unix(seconds, 0).UTC()
}

// micros is a metav1.MicroTime in UTC, zero where it is not set. Its decoders cut it to microseconds.
func (m *message) micros() time.Time {
	if len(m.bytes) == 0 {
		return time.Time{}
	}
	seconds, nanos := m.timestamp()
	return time.Unix(seconds, int64(nanos.Truncate(time.Microsecond))).UTC()
}

func (m *message) timestamp() (seconds int64, nanos time.Duration) {
	t := m.reader.message(m.bytes)
	for t.next() {
		switch t.number {
		case 1:
			seconds = int64(t.varint)
		case 2:
			nanos = time.Duration(t.int32())
		}
	}
	return seconds, nanos
}

// field is the value of the last field of a number; nil if there is none.
func (r *Reader) field(data []byte, number protowire.Number) []byte {
	var value []byte
	m := r.message(data)
	for m.next() {
		if m.number == number {
			value = m.bytes
		}
	}
	return value
}

// count is how often a field is there.
func (r *Reader) count(data []byte, number protowire.Number) int {
	n := 0
	m := r.message(data)
	for m.next() {
		if m.number == number {
			n++
		}
	}
	return n
}

// entry is the value of a key in a field that is a map of strings.
func (r *Reader) entry(data []byte, number protowire.Number, key string) []byte {
	m := r.message(data)
	for m.next() {
		if m.number == number {
			if k, value := r.pair(m.bytes); string(k) == key {
				return value
			}
		}
	}
	return nil
}

// pair is one entry of a map of strings.
func (r *Reader) pair(data []byte) (key, value []byte) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			key = m.bytes
		case 2:
			value = m.bytes
		}
	}
	return key, value
}
