package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// flushEvery is the interval between flushes of a compressed recording. If the process is killed, the events since the
// last flush are lost. A flush after each line would cost more space than the compression saves.
const flushEvery = time.Second

// Writer writes a recording. It is safe for concurrent use.
type Writer struct {
	name string
	file io.Closer // file is nil if the caller closes the output
	gzip *gzip.Writer

	mu      sync.Mutex
	out     io.Writer
	encoder encoder
	bytes   *countedBytes // bytes is nil if the size is not needed
	span    span
	// `dense` combines several Lease renewals in one line. It is nil if each event has its own line.
	dense *dense
	// flushTimer is the timer for the next flush, or nil if everything is flushed. `pending` is the number of events
	// since the last flush.
	flushTimer *time.Timer
	pending    int
	// err is the first write error. Nothing is written afterwards, because no reader can continue after an incomplete
	// line.
	err    error
	closed bool
}

// Create creates a file and starts a recording in it. The recording is compressed if the name ends in .gz. Create
// returns fs.ErrExist if the file exists.
func Create(path string, header Header) (*Writer, error) {
	w, err := create(path)
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(path, ".gz") {
		w.gzip = gzip.NewWriter(w.bytes)
		w.out = w.gzip
	}
	return w.beginFile(header)
}

func create(path string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("recording %s already exists and is not overwritten: %w", path, fs.ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("create recording %s: %w", path, stripPath(err))
	}
	bytes := &countedBytes{to: file}
	return &Writer{name: path, file: file, bytes: bytes, out: bytes}, nil
}

// beginFile writes the header. On error it removes the file, so that its name can be reused.
func (w *Writer) beginFile(header Header) (*Writer, error) {
	if err := w.begin(header); err != nil {
		_, _ = w.Close(), os.Remove(w.name)
		return nil, err
	}
	return w, nil
}

// CreateDense creates a file and starts a compressed recording whose lines can hold several Lease renewals. The Writer
// truncates the times of events to microseconds. CreateDense returns fs.ErrExist if the file exists.
func CreateDense(path string, header Header) (*Writer, error) {
	w, err := create(path)
	if err != nil {
		return nil, err
	}
	w.dense = newDense()
	w.gzip = gzip.NewWriter(w.bytes)
	w.out = w.gzip
	return w.beginFile(header)
}

// NewWriter starts an uncompressed recording on `out`. Close does not close `out`.
func NewWriter(out io.Writer, header Header) (*Writer, error) {
	w := &Writer{name: "stream", out: out}
	if err := w.begin(header); err != nil {
		return nil, err
	}
	return w, nil
}

// NewDenseWriter starts a recording on `out` in the format of CreateDense. Close does not close `out`.
func NewDenseWriter(out io.Writer, header Header) (*Writer, error) {
	w := &Writer{name: "stream", bytes: &countedBytes{to: out}, dense: newDense()}
	w.gzip = gzip.NewWriter(w.bytes)
	w.out = w.gzip
	if err := w.begin(header); err != nil {
		return nil, err
	}
	return w, nil
}

// begin writes and flushes the header, so that the file is a valid recording even without events.
func (w *Writer) begin(header Header) error {
	text, err := encodeHeader(header)
	if err != nil {
		return fmt.Errorf("write recording %s: %w", w.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.write(text)
	w.flushNow()
	return w.err
}

// Write adds an event. An uncompressed recording contains the event when Write returns. A compressed recording contains
// it within a second.
func (w *Writer) Write(ev event.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.writeEvent(ev); err != nil {
		return fmt.Errorf("write recording %s: %w", w.name, err)
	}
	if w.gzip == nil || w.err != nil {
		return w.err
	}
	w.pending++
	if w.flushTimer == nil {
		w.flushTimer = time.AfterFunc(flushEvery, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.flushNow()
		})
	}
	return nil
}

// Flush writes all events to the file.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.flushTimer != nil {
		w.flushTimer.Stop()
		w.flushNow()
	}
	return w.err
}

// Pending returns the number of events that are not in the file yet. After a write error, these events are lost.
func (w *Writer) Pending() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pending
}

// writeEvent returns an error if the event cannot be recorded. Write errors are stored in w.err.
func (w *Writer) writeEvent(ev event.Event) error {
	if w.dense != nil {
		ev.Seen = ev.Seen.Truncate(time.Microsecond)
	}
	if err := check(ev); err != nil {
		return err
	}
	if err := w.span.admit(ev.Seen); err != nil {
		return err
	}
	if w.dense != nil && w.dense.batch.Add(ev) {
		return nil
	}
	text, err := w.encoder.event(ev)
	if err != nil {
		return err
	}
	w.writeBatch()
	w.write(text)
	if w.dense != nil {
		w.dense.leases.Note(ev)
	}
	return nil
}

func (w *Writer) write(text []byte) {
	if w.err != nil {
		return
	}
	if _, err := w.out.Write(text); err != nil {
		w.fail(err)
	}
}

func (w *Writer) flushNow() {
	w.flushTimer = nil
	w.writeBatch()
	if w.gzip == nil || w.err != nil {
		return
	}
	if err := w.gzip.Flush(); err != nil {
		w.fail(err)
		return
	}
	w.pending = 0
}

func (w *Writer) fail(err error) {
	w.err = fmt.Errorf("write recording %s: %w", w.name, stripPath(err))
}

// Close completes the recording. It returns the first error of any write or flush.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.flushTimer != nil {
		w.flushTimer.Stop()
	}
	w.writeBatch()
	if w.gzip != nil && w.err == nil {
		if err := w.gzip.Close(); err != nil {
			w.fail(err)
		}
	}
	if w.file != nil {
		if err := w.file.Close(); err != nil && w.err == nil {
			w.fail(err)
		}
	}
	err := w.err
	w.fail(fs.ErrClosed)
	return err
}

// stripPath removes the path from a file error, because the caller adds the path.
func stripPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
