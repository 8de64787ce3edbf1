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
	single [1]event.Event // single is reused for each line with one event
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

// Events iterates over the events. It can be iterated once. If the recording is damaged, the last pair contains an error
// that names the file and the line. All events before it are valid.
func (r *Reader) Events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			text, err := r.lines.next()
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

// decode returns the events of a line. They are valid until the next call.
func (r *Reader) decode(text []byte) (events []event.Event, err error) {
	switch {
	case len(bytes.TrimSpace(text)) == 0:
		return nil, nil
	case isRenewals(text):
		events, err = r.leases.renewals(text)
		for _, ev := range events {
			err = cmp.Or(err, checkSeen(ev.Seen))
		}
	default:
		r.single[0], err = decodeEvent(text)
		r.leases.note(r.single[0])
		events = r.single[:]
	}
	if err != nil && r.lines.unended && !json.Valid(text) {
		err = ErrCutShort
	}
	return events, err
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
