package decode

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// ErrMalformed means that a document is not the requested list.
var ErrMalformed = errors.New("malformed list")

// maxField is the maximum size of an object in a list. etcd stores objects of at most a few MiB.
const maxField = 16 << 20

// List is one page of a list, without its objects.
type List struct {
	// Version is the list's resourceVersion.
	Version string
	// Continue is the token for the next page, or empty on the last page.
	Continue string
}

// List reads a protobuf document with a list of the given kind, such as "PodList". It passes each object to a function, as
// an encoded protobuf message that is only valid during the call. Only one object at a time is in memory.
func (r *Reader) List(in *bufio.Reader, kind string, each func(object []byte) error) (list List, err error) {
	s := listStream{in: in}
	if prefix, err := s.value(uint64(len(protobufPrefix))); err != nil || !bytes.Equal(prefix, protobufPrefix) {
		return list, cmp.Or(err, fmt.Errorf("%w: it is not in protobuf", ErrMalformed))
	}
	got, end := "", uint64(0) // end is where the list ends, or 0 before it begins
	for end == 0 || s.read < end {
		number, size, err := s.field()
		var value []byte
		switch begins := number == 2 && end == 0; {
		case err != nil:
			return list, err
		case begins && got != kind: // the kind precedes the list
			return list, fmt.Errorf("%w: got the kind %q instead of %s", ErrMalformed, got, kind)
		case begins:
			end = s.read + size
			continue
		}
		if value, err = s.value(size); err != nil {
			return list, err
		}
		r.err = nil
		switch {
		case number == 1 && end == 0:
			got = string(r.field(value, 2))
		case number == 1:
			list = List{string(r.field(value, 2)), string(r.field(value, 3))}
		case number == 2:
			err = each(value)
		}
		if err == nil && r.err != nil {
			err = fmt.Errorf("%w: %w", ErrMalformed, r.err)
		}
		if err != nil {
			return list, err
		}
	}
	_, err = io.Copy(io.Discard, in) // the rest is empty, but the connection can be used again only after the end
	return list, err                 //nolint:wrapcheck // as the errors of listStream
}

// listStream reads protobuf fields from a stream.
type listStream struct {
	in *bufio.Reader
	// read is the number of bytes that were read. buffer holds the last value.
	read   uint64
	buffer []byte
}

// field reads the beginning of a field, and returns the size of its value.
func (s *listStream) field() (number protowire.Number, size uint64, err error) {
	tag, err := s.varint()
	if err != nil {
		return 0, 0, err
	}
	switch wireType := protowire.Type(tag & 7); wireType {
	case protowire.BytesType:
		size, err = s.varint()
	case protowire.VarintType:
		_, err = s.varint()
	default:
		err = fmt.Errorf("%w: wire type %d", ErrMalformed, wireType)
	}
	return protowire.Number(tag >> 3), size, err
}

func (s *listStream) varint() (n uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		b, err := s.in.ReadByte()
		if err != nil {
			return 0, cutOff(err)
		}
		s.read++
		if n |= uint64(b&0x7f) << shift; b < 0x80 {
			return n, nil
		}
	}
	return 0, fmt.Errorf("%w: a number is too long", ErrMalformed)
}

// value reads a value. The next call overwrites it.
func (s *listStream) value(size uint64) ([]byte, error) {
	if size > maxField {
		return nil, fmt.Errorf("%w: a field has %d bytes", ErrMalformed, size)
	}
	if size > uint64(cap(s.buffer)) {
		s.buffer = make([]byte, size+size/4)
	}
	value := s.buffer[:size]
	for n := 0; n < len(value); {
		some, err := s.in.Read(value[n:])
		if n += some; err != nil {
			return nil, cutOff(err)
		}
	}
	s.read += size
	return value, nil
}

// cutOff returns ErrMalformed if the stream ended within the document.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it is cut off", ErrMalformed)
	}
	return err
}
