package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// ErrCutShort says that a recording ends in the middle: the recorder was killed, or the copy is incomplete. All events before
// the end are good.
var ErrCutShort = errors.New("the recording is cut short here")

// Reader reads the events of a recording.
type Reader struct {
	name   string
	file   io.Closer // nil if the caller closes it
	lines  *lines
	header Header
	span   span
	// err is io.EOF or the damage that ended the recording.
	err error
}

// Open opens a file, compressed or not, and reads the header of its recording.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open recording %s: %w", path, cause(err))
	}
	r, err := NewReader(file, path)
	if err != nil {
		_ = file.Close() // it was only read
		return nil, err
	}
	r.file = file
	return r, nil
}

// NewReader reads the header of a recording, compressed or not. The name is for the errors.
func NewReader(in io.Reader, name string) (*Reader, error) {
	l, err := newLines(in)
	if err != nil {
		return nil, fmt.Errorf("recording %s: %w", name, err)
	}
	r := &Reader{name: name, lines: l}
	text, err := l.next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("recording %s is empty", name)
	}
	if err != nil {
		return nil, r.damage(err)
	}
	if r.header, err = decodeHeader(text); err != nil {
		return nil, r.damage(err)
	}
	return r, nil
}

// Header returns the header of the recording.
func (r *Reader) Header() Header { return r.header }

// Next returns the next event, and io.EOF after the last one. Any other error names the file, the line and the fault. Every
// event before it is good, and nothing can be read after it.
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
		ev, err := decodeEvent(text)
		if err == nil {
			err = r.span.admit(ev.Seen)
		}
		if err != nil && r.lines.unended && !json.Valid(text) {
			err = ErrCutShort
		}
		if err != nil {
			return event.Event{}, r.damage(err)
		}
		return ev, nil
	}
}

// Events returns the remaining events. If the recording is damaged, the last pair has the error.
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
		return fmt.Errorf("close recording %s: %w", r.name, cause(err))
	}
	return nil
}

func (r *Reader) damage(err error) error {
	return fmt.Errorf("recording %s, line %d: %w", r.name, r.lines.number, err)
}
