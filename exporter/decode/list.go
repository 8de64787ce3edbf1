package decode

import (
	"bufio"
	"bytes"
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
	r.err = nil
	s := listStream{in: in}
	if !bytes.Equal(s.value(uint64(len(protobufPrefix))), protobufPrefix) {
		s.fail(malformed("it is not in protobuf"))
	}
	_, size := s.field()
	if got := string(r.field(s.value(size), 2)); got != kind { // the kind precedes the list
		s.fail(malformed("got the kind %q instead of %s", got, kind))
	}
	_, size = s.field()
	for end := s.read + size; s.err == nil && s.read < end; {
		number, size := s.field()
		switch value := s.value(size); {
		case s.err != nil:
		case number == 1:
			list = List{string(r.field(value, 2)), string(r.field(value, 3))}
		case number == 2:
			s.err = each(value)
		}
		if r.err != nil {
			s.fail(malformed("%w", r.err))
		}
	}
	if s.err == nil { // the rest is empty, but the connection can be used again only after the end
		_, s.err = io.Copy(io.Discard, in)
	}
	return list, s.err
}

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrMalformed, fmt.Errorf(format, args...))
}

// listStream reads protobuf fields from a stream. After an error, it reads nothing.
type listStream struct {
	in *bufio.Reader
	// read is the number of bytes that were read. buffer holds the last value.
	read   uint64
	buffer []byte
	err    error
}

// fail records the first error. A stream that ends here is cut off. A broken connection has another error, such as
// io.ErrUnexpectedEOF.
func (s *listStream) fail(err error) {
	if errors.Is(err, io.EOF) {
		err = malformed("it is cut off")
	}
	if s.err == nil {
		s.err = err
	}
}

// field reads the beginning of a field, and returns the size of its value.
func (s *listStream) field() (number protowire.Number, size uint64) {
	tag := s.varint()
	if wireType := protowire.Type(tag & 7); wireType != protowire.BytesType {
		s.fail(malformed("wire type %d", wireType))
	}
	return protowire.Number(tag >> 3), s.varint()
}

func (s *listStream) varint() uint64 {
	if s.err != nil {
		return 0
	}
	next, err := s.in.Peek(binary.MaxVarintLen64) // fewer bytes at the end
	n, length := protowire.ConsumeVarint(next)
	switch {
	case length >= 0:
		length, _ = s.in.Discard(length)
		s.read += uint64(length)
	case err != nil:
		s.fail(err)
	default:
		s.fail(malformed("bad number: %w", protowire.ParseError(length)))
	}
	return n
}

// value reads a value. The next call overwrites it.
func (s *listStream) value(size uint64) []byte {
	if size > maxField {
		s.fail(malformed("a field has %d bytes", size))
	}
	if s.err != nil {
		return nil
	}
	if size > uint64(cap(s.buffer)) {
		s.buffer = make([]byte, size+size/4)
	}
	value := s.buffer[:size]
	for rest := value; len(rest) > 0 && s.err == nil; {
		n, err := s.in.Read(rest)
		if rest = rest[n:]; err != nil {
			s.fail(err)
		}
	}
	s.read += size
	return value
}
