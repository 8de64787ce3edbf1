package decode

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
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
	got, found := "", false
	for {
		number, size, err := s.field()
		switch {
		case errors.Is(err, io.EOF) && got != kind:
			return list, fmt.Errorf("%w: got the kind %q instead of %s", ErrMalformed, got, kind)
		case errors.Is(err, io.EOF) && found:
			return list, nil
		case err != nil:
			return list, inDocument(err)
		case number == 2 && got == kind: // this field follows its kind
			found = true
			list, err = r.listItems(&s, s.read+size, each)
		default:
			var value []byte
			if value, err = s.value(size); err == nil && number == 1 {
				r.err = nil
				got = string(r.field(value, 2))
				err = r.malformed()
			}
		}
		if err != nil {
			return list, err
		}
	}
}

// listItems reads a list that ends when s.read is `end`.
func (r *Reader) listItems(s *listStream, end uint64, each func(object []byte) error) (list List, err error) {
	for s.read < end {
		number, size, err := s.field()
		if err != nil {
			return list, inDocument(err)
		}
		value, err := s.value(size)
		if err != nil {
			return list, err
		}
		switch number {
		case 1:
			r.err = nil
			list = List{string(r.field(value, 2)), string(r.field(value, 3))}
			err = r.malformed()
		case 2:
			err = each(value)
		}
		if err != nil {
			return list, err
		}
	}
	return list, nil
}

// malformed returns ErrMalformed if the last field could not be read.
func (r *Reader) malformed() error {
	if r.err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrMalformed, r.err)
}

// listStream reads protobuf fields from a stream.
type listStream struct {
	in *bufio.Reader
	// read is the number of bytes that were read. buffer holds the last value.
	read   uint64
	buffer []byte
}

// field reads the beginning of a field, and returns the size of its value. It returns io.EOF at the end of the stream.
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
	return protowire.Number(tag >> 3), size, inDocument(err)
}

// varint reads a number. It returns io.EOF if the stream ends before the number.
func (s *listStream) varint() (uint64, error) {
	var text [binary.MaxVarintLen64]byte
	for i := range text {
		b, err := s.in.ReadByte()
		if err != nil && i > 0 {
			return 0, inDocument(err)
		}
		if err != nil {
			return 0, err //nolint:wrapcheck // compared with io.EOF
		}
		s.read++
		if text[i] = b; b < 0x80 {
			n, _ := binary.Uvarint(text[:i+1])
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
			return nil, inDocument(err)
		}
	}
	s.read += size
	return value, nil
}

// inDocument returns ErrMalformed if the stream ended within the document.
func inDocument(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it is cut off", ErrMalformed)
	}
	return err
}
