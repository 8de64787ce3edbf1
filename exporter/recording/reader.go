package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// ErrCutShort is returned if the end of a recording is missing. The recorder may have been killed, or the file may be
// an incomplete copy. All events before the error are valid.
var ErrCutShort = errors.New("the recording is cut short here")

// ErrEmpty is returned for an empty file.
var ErrEmpty = errors.New("is empty")

// Reader reads a recording's events.
type Reader struct {
	name   string
	file   io.Closer // file is nil if the caller closes the input
	lines  *lines
	header Header
	leases leases
	// `pending` holds the remaining events of the last line. Next returns them one by one.
	pending []event.Event
	single  [1]event.Event // single is the memory of pending for a line with one event
	// err is the error that ended the recording. It is io.EOF at the regular end.
	err error
}

// Open opens a recording and reads its header. The file may be compressed.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording %s: %w", path, stripPath(err))
	}
	r, err := NewReader(file, path)
	if err != nil {
		_ = file.Close() // closing a file that was only read cannot lose data
		return nil, err
	}
	r.file = file
	return r, nil
}

// NewReader reads the header of a recording, which may be compressed. Errors contain the name of the recording.
func NewReader(in io.Reader, name string) (*Reader, error) {
	l, err := newLines(in)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", name, err)
	}
	r := &Reader{name: name, lines: l}
	text, err := l.next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("recording %s %w", name, ErrEmpty)
	}
	if err != nil {
		return nil, r.damage(err)
	}
	if r.header, err = decodeHeader(text); err != nil {
		return nil, r.damage(err)
	}
	return r, nil
}

// Header returns the recording's header.
func (r *Reader) Header() Header { return r.header }

// Next returns the next event, or io.EOF after the last one. All other errors name the file and the line. All events
// before an error are valid. After an error, Next returns the same error again.
func (r *Reader) Next() (event.Event, error) {
	if r.err != nil {
		return event.Event{}, r.err
	}
	ev, err := r.next()
	if err != nil {
		r.err = err
	}
	return ev, err
}

func (r *Reader) next() (event.Event, error) {
	for {
		if len(r.pending) > 0 {
			ev := r.pending[0]
			r.pending = r.pending[1:]
			return ev, nil
		}
		text, err := r.lines.next()
		if errors.Is(err, io.EOF) {
			return event.Event{}, io.EOF
		}
		if err != nil {
			return event.Event{}, r.damage(err)
		}
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		events, err := r.decode(text)
		if err != nil && r.lines.unended && !json.Valid(text) {
			err = ErrCutShort
		}
		if err != nil {
			return event.Event{}, r.damage(err)
		}
		r.pending = events
	}
}

// decode returns the events of a line. They are valid until the next call.
func (r *Reader) decode(text []byte) ([]event.Event, error) {
	if !isRenewals(text) {
		ev, err := decodeEvent(text)
		if err != nil {
			return nil, err
		}
		r.leases.note(ev)
		r.single[0] = ev
		return r.single[:], nil
	}
	events, err := r.leases.renewals(text)
	for _, ev := range events {
		err = cmp.Or(err, checkSeen(ev.Seen))
	}
	return events, err //nolint:wrapcheck // the caller adds the line
}

// Events iterates over the remaining events. If the recording is damaged, the last pair contains the error.
func (r *Reader) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			ev, err := r.Next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// Close closes the file that Open opened.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("close recording %s: %w", r.name, stripPath(err))
	}
	return nil
}

func (r *Reader) damage(err error) error {
	return fmt.Errorf("recording %s, line %d: %w", r.name, r.lines.number, err)
}
