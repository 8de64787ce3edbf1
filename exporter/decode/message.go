package decode

import (
	"fmt"
	"iter"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// wire reads encoded protobuf messages.
type wire struct {
	// err is an error in the current message, or nil.
	err error
}

// each iterates over the fields of a message. A value is a string, a message, or an encoded number.
func (w *wire) each(data []byte) iter.Seq2[protowire.Number, []byte] {
	return func(yield func(protowire.Number, []byte) bool) {
		for rest := data; len(rest) > 0; {
			var number protowire.Number
			var value []byte
			if number, value, rest = w.next(rest); number == 0 || !yield(number, value) {
				return
			}
		}
	}
}

// list iterates over the values of a field. If the field is not repeated, there is at most one.
func (w *wire) list(data []byte, number protowire.Number) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for n, value := range w.each(data) {
			if n == number && !yield(value) {
				return
			}
		}
	}
}

// count returns the number of values of a field.
func (w *wire) count(data []byte, number protowire.Number) (n int) {
	for range w.list(data, number) {
		n++
	}
	return n
}

// next returns the first field of a message, and the other fields. After an error, it returns nothing. It has fast paths
// for numbers of one byte, because most numbers are that short. Decoding spends most of its CPU time here.
func (w *wire) next(data []byte) (number protowire.Number, value, rest []byte) {
	tag, n := uint64(data[0]), 1
	if tag >= 0x80 {
		tag, n = protowire.ConsumeVarint(data)
	}
	number, rest = protowire.Number(tag>>3), data[max(n, 0):]
	switch wireType := protowire.Type(tag & 7); {
	case n < 0 || number <= 0 || len(rest) == 0:
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
		w.err = protowire.ParseError(n)
		return 0, nil, nil
	}
	return number, value, rest[n:]
}

// truncated is the error code of protowire for a message that ends within a field.
const truncated = -1

// failed returns the error of the last message, or nil. `what` is what was read.
func (w *wire) failed(what string) error {
	if w.err == nil {
		return nil
	}
	return fmt.Errorf("read %s: %w", what, w.err)
}

// fields contains the values of the fields 1 to 11 of a message. An absent field is nil. Of a repeated field, it contains
// the first value.
type fields [12][]byte

func (w *wire) fields(data []byte) (f fields) {
	for len(data) > 0 { // as each, which takes more CPU time
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
	for value := range w.list(data, number) {
		return value
	}
	return nil
}

// entry returns the value of a key in a map of strings, or nil if the key is absent.
func (w *wire) entry(data []byte, number protowire.Number, key string) []byte {
	for value := range w.list(data, number) {
		if entry := w.fields(value); string(entry[1]) == key {
			return entry[2]
		}
	}
	return nil
}

// integer decodes a number. It returns 0 if the field is absent.
func integer(value []byte) int64 {
	n, _ := protowire.ConsumeVarint(value)
	return int64(n)
}

func boolean(value []byte) bool { return integer(value) != 0 }

// time decodes a metav1.Time or a metav1.MicroTime in UTC. The API server has truncated it. If the field is absent, time
// returns the zero time. Years are clamped to 0 to 9999. The API server accepts other years, but recordings cannot contain
// them, because JSON does not support them.
func (w *wire) time(data []byte) time.Time {
	if len(data) == 0 {
		return time.Time{}
	}
	f := w.fields(data)
	switch t := time.Unix(integer(f[1]), integer(f[2])).UTC(); {
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	case t.Year() < 0:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	default:
		return t
	}
}
