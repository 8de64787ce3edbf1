package recording

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/klauspost/compress/gzip"

	"github.com/kubeflap/kubeflap/exporter/event"
)

var (
	// ErrCutShort is returned if the end of a recording is missing. The recorder may have been killed, or the file may be
	// an incomplete copy. All events before the error are valid.
	ErrCutShort = errors.New("the recording is cut short here")
	// ErrEmpty is returned for an empty file.
	ErrEmpty = errors.New("is empty")
)

// Reader reads a recording's events.
type Reader struct {
	name   string
	file   io.Closer // file is nil if the caller closes the input
	lines  *bufio.Scanner
	number int // number is the number of the current line. The header is line 1.
	header Header
	leases leases
	// single is reused for each line with one event, and many for each line of renewals.
	single [1]event.Event
	many   renewals
}

// Open opens a recording and reads its header. The file may be compressed.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording %s: %w", path, errors.Unwrap(err)) // without the path
	}
	r, err := NewReader(file, path)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.file = file
	return r, nil
}

// NewReader reads the header of a recording, which may be compressed. Errors contain the name of the recording. It
// detects compression from the first bytes, because the file may have any name.
func NewReader(in io.Reader, name string) (*Reader, error) {
	const size = 64 << 10
	buffered := bufio.NewReaderSize(in, size)
	in = buffered
	if magic, _ := buffered.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("recording %s: %w", name, unreadable(err))
		}
		in = unzipped
	}
	r := &Reader{name: name, lines: bufio.NewScanner(in)}
	r.lines.Buffer(make([]byte, size), maxLine)
	r.lines.Split(splitLines)
	text, err := r.line()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("recording %s %w", name, ErrEmpty)
	}
	if err == nil {
		r.header, err = decodeHeader(text)
	}
	if err != nil {
		return nil, r.damage(err)
	}
	return r, nil
}

// splitLines splits after each newline, so that isCut can recognise an unfinished line.
func splitLines(data []byte, atEnd bool) (int, []byte, error) {
	n := bytes.IndexByte(data, '\n') + 1
	if n == 0 && atEnd {
		n = len(data)
	}
	if n == 0 {
		return 0, nil, nil
	}
	return n, data[:n], nil
}

func isCut(line []byte) bool { return !bytes.HasSuffix(line, []byte{'\n'}) }

// Header returns the recording's header.
func (r *Reader) Header() Header { return r.header }

// Events iterates over the events. It can be iterated once. If the recording is damaged, the last pair contains an error
// that names the file and the line. All events before it are valid.
func (r *Reader) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			text, err := r.line()
			if errors.Is(err, io.EOF) {
				return
			}
			var events []event.Event
			if err == nil {
				events, err = r.decode(text)
			}
			if err != nil {
				yield(event.Event{}, r.damage(err))
				return
			}
			for _, ev := range events {
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// line returns the next line. The line is valid until the next call.
func (r *Reader) line() ([]byte, error) {
	r.number++
	if r.lines.Scan() && (r.lines.Err() == nil || !isCut(r.lines.Bytes())) {
		return r.lines.Bytes(), nil
	}
	if err := r.lines.Err(); err != nil {
		return nil, unreadable(err)
	}
	return nil, io.EOF
}

func unreadable(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return errTooLong
	case errors.Is(err, io.ErrUnexpectedEOF):
		return ErrCutShort
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.As(err, &corrupt):
		return fmt.Errorf("the compressed data is damaged: %w", err)
	}
	return err
}

// decode returns the events of a line. They are valid until the next call.
func (r *Reader) decode(text []byte) (events []event.Event, err error) {
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return nil, nil
	case isRenewals(text):
		r.many = renewals{Entries: r.many.Entries[:0]}
		if err = decodeJSON(text, &r.many); err == nil {
			events, err = r.leases.events(r.many)
		}
	default:
		r.single[0], err = decodeEvent(text)
		r.leases.note(r.single[0])
		events = r.single[:]
	}
	if err != nil && isCut(text) && !json.Valid(text) {
		err = ErrCutShort
	}
	return events, err
}

// Close closes the file that Open opened. Closing a file that was only read cannot lose data.
func (r *Reader) Close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}

func (r *Reader) damage(err error) error {
	return fmt.Errorf("recording %s, line %d: %w", r.name, r.number, err)
}
