package recording

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// flushEvery is how much time of a compressed recording is lost if the process is killed. Flushing each line would cost more
// bytes than the compression saves.
const flushEvery = time.Second

// Writer writes a recording. It may be used by several goroutines at once.
type Writer struct {
	name string
	file io.Closer // nil if the caller closes it
	gzip *gzip.Writer

	mu   sync.Mutex
	out  io.Writer
	span span
	// flush is set while lines are in the compressor.
	flush *time.Timer
	// err is the first failure. Nothing is written after it, because nobody could read what follows a broken line.
	err    error
	closed bool
}

// Create begins a recording in a new file, compressed if the name ends in .gz. It fails with fs.ErrExist if the file exists.
func Create(path string, header Header) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("recording %s exists already and is not overwritten: %w", path, fs.ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("create recording %s: %w", path, cause(err))
	}
	w := &Writer{name: path, file: file, out: file}
	if strings.HasSuffix(path, ".gz") {
		w.gzip = gzip.NewWriter(file)
		w.out = w.gzip
	}
	if err := w.begin(header); err != nil {
		_, _ = w.Close(), os.Remove(path) // so that the next attempt can create it
		return nil, err
	}
	return w, nil
}

// NewWriter begins a recording on out, without compression. Close does not close out.
func NewWriter(out io.Writer, header Header) (*Writer, error) {
	w := &Writer{name: "stream", out: out}
	if err := w.begin(header); err != nil {
		return nil, err
	}
	return w, nil
}

// begin writes the header and flushes it, so that the file is a valid recording even without events.
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

// Write adds an event. It is in the file when Write returns, or within a second if the file is compressed.
func (w *Writer) Write(ev event.Event) error {
	text, err := encodeEvent(ev)
	if err != nil {
		return fmt.Errorf("write recording %s: %w", w.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.span.admit(ev.Seen); err != nil {
		return fmt.Errorf("write recording %s: %w", w.name, err)
	}
	w.write(text)
	if w.gzip != nil && w.flush == nil && w.err == nil {
		w.flush = time.AfterFunc(flushEvery, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.flushNow()
		})
	}
	return w.err
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
	w.flush = nil
	if w.gzip == nil || w.err != nil {
		return
	}
	if err := w.gzip.Flush(); err != nil {
		w.fail(err)
	}
}

func (w *Writer) fail(err error) {
	w.err = fmt.Errorf("write recording %s: %w", w.name, cause(err))
}

// Close completes the recording. It returns the first error of any write, including those between two calls of Write.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	if w.flush != nil {
		w.flush.Stop()
	}
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

// cause removes the path from a file error, because the caller names it.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
