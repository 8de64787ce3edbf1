package decode

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// wire reads encoded protobuf messages.
type wire struct {
	// err is an error in the current message, or nil.
	err error
}

// message is an encoded protobuf message.
type message struct {
	wire *wire
	data []byte
}

func (w *wire) message(data []byte) message { return message{w, data} }

// each iterates over the fields. A value is a string, a message, or an encoded number.
func (m message) each(yield func(number protowire.Number, value []byte) bool) {
	for rest := m.data; len(rest) > 0; {
		var number protowire.Number
		var value []byte
		if number, value, rest = m.wire.next(rest); number == 0 || !yield(number, value) {
			return
		}
	}
}

// list is a repeated field of a message.
type list struct {
	message
	number protowire.Number
}

func (w *wire) list(data []byte, number protowire.Number) list {
	return list{w.message(data), number}
}

// each iterates over the values. If the field is not repeated, it yields at most one.
func (l list) each(yield func(value []byte) bool) {
	for number, value := range l.message.each {
		if number == l.number && !yield(value) {
			return
		}
	}
}

// len returns the number of values.
func (l list) len() (n int) {
	for range l.each {
		n++
	}
	return n
}

// next returns the first field of a message, and the other fields. After an error, it returns nothing. It has fast paths
// for numbers of one byte, because most numbers are that short. Decoding spends most of its CPU time here.
func (w *wire) next(data []byte) (number protowire.Number, value, rest []byte) {
	tag, n := uint64(data[0]), 1
	if tag >= 0x80 {
		if tag, n = protowire.ConsumeVarint(data); n < 0 {
			return w.fail(n)
		}
	}
	number, rest = protowire.Number(tag>>3), data[n:]
	switch wireType := protowire.Type(tag & 7); {
	case number <= 0 || len(rest) == 0:
		n = truncated
	case wireType == protowire.BytesType && rest[0] < 0x80 && int(rest[0]) < len(rest):
		n = 1 + int(rest[0])
		return number, rest[1:n], rest[n:]
	case wireType == protowire.BytesType:
		value, n = protowire.ConsumeBytes(rest)
	default:
		n = protowire.ConsumeFieldValue(number, wireType, rest)
		value = rest[:max(n, 0)]
	}
	if n < 0 {
		return w.fail(n)
	}
	return number, value, rest[n:]
}

// truncated is the error code of protowire for a message that ends within a field.
const truncated = -1

func (w *wire) fail(code int) (number protowire.Number, value, rest []byte) {
	w.err = protowire.ParseError(code)
	return 0, nil, nil
}

// fields contains the values of the fields 1 to 8 of a message. An absent field is nil. Of a repeated field, it contains
// the first value.
type fields [9][]byte

func (w *wire) fields(data []byte) (f fields) {
	for len(data) > 0 { // as message.each, which takes more CPU time
		var number protowire.Number
		var value []byte
		if number, value, data = w.next(data); uint(number) < uint(len(f)) && f[number] == nil {
			f[number] = value
		}
	}
	return f
}

// field returns the first value of a field, or nil if the field is absent.
func (w *wire) field(data []byte, number protowire.Number) []byte {
	for value := range w.list(data, number).each {
		return value
	}
	return nil
}

// entry returns the value of a key in a map of strings, or nil if the key is absent.
func (w *wire) entry(entries list, key string) []byte {
	for value := range entries.each {
		if entry := w.fields(value); string(entry[1]) == key {
			return entry[2]
		}
	}
	return nil
}

// entries returns a map of strings.
func (r *Reader) entries(entries list) map[string]string {
	all := make(map[string]string, entries.len())
	for value := range entries.each {
		entry := r.fields(value)
		all[r.text(entry[1])] = r.text(entry[2])
	}
	return all
}

// integer decodes a number. It returns 0 if the field is absent.
func integer(value []byte) int64 {
	n, _ := protowire.ConsumeVarint(value)
	return int64(n)
}

func boolean(value []byte) bool { return integer(value) != 0 }

// time decodes a metav1.Time or a metav1.MicroTime in UTC. If the field is absent, it returns the zero time. Like the API's
// decoders, it truncates the time: to seconds, or to microseconds.
func (w *wire) time(data []byte, precision time.Duration) time.Time {
	if len(data) == 0 {
		return time.Time{}
	}
	f := w.fields(data)
	nanos := time.Duration(int32(integer(f[2]))).Truncate(precision)
	return inCalendar(time.Unix(integer(f[1]), int64(nanos)).UTC())
}

// inCalendar clamps a time to the years 0 to 9999. The API server accepts other years, but recordings cannot contain them,
// because JSON does not support them.
func inCalendar(t time.Time) time.Time {
	switch {
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 0:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return t
}
