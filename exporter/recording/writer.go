package recording

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// compression is the gzip level. The default level needs a third more CPU time. It saves a fifth of the space if many
// pods change, and 5 % if most events are heartbeats.
const compression = gzip.BestSpeed

// Writer writes a recording. Only one goroutine may use it.
type Writer struct {
	name string
	file *os.File // file is nil if the caller closes the output
	// out is gzip, or bytes if the recording is not compressed.
	out   io.Writer
	gzip  *gzip.Writer
	bytes countedBytes
	json  *json.Encoder // json writes to out
	// batch combines several Lease renewals in one line. It is nil if the recording is not compressed. Each event then has
	// its own line.
	batch *batch
	// err is the first write error. Nothing is written afterwards, because no reader can continue after an incomplete
	// line.
	err error
}

// Create creates a file and starts a recording in it. The recording is compressed if the name ends in .gz. Create
// returns fs.ErrExist if the file exists.
func Create(path string, header Header) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("recording %s already exists and is not overwritten: %w", path, fs.ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("create recording %s: %w", path, stripPath(err))
	}
	w := &Writer{name: path, file: file, bytes: countedBytes{to: file}}
	if err := w.begin(header, strings.HasSuffix(path, ".gz")); err != nil {
		_, _ = w.Close(), os.Remove(path) // so that the name can be used again
		return nil, err
	}
	return w, nil
}

// NewWriter starts a recording on `out`. Close does not close `out`.
func NewWriter(out io.Writer, header Header, compress bool) (*Writer, error) {
	w := &Writer{name: "stream", bytes: countedBytes{to: out}}
	if err := w.begin(header, compress); err != nil {
		return nil, err
	}
	return w, nil
}

// begin writes the header to the output, so that the file is a valid recording even without events.
func (w *Writer) begin(header Header, compress bool) error {
	w.out = &w.bytes
	if compress {
		w.gzip, w.err = gzip.NewWriterLevel(&w.bytes, compression)
		w.out = w.gzip
		w.batch = &batch{}
	}
	w.json = json.NewEncoder(w.out)
	w.json.SetEscapeHTML(false)
	header.Recorded = header.Recorded.UTC()
	w.encode(firstLine{format{kubeflapRecording, Version}, header})
	return w.Flush()
}

// Write adds an event. An uncompressed recording contains the event when Write returns, and a compressed one after the
// next call of Flush. A compressed recording only has the microseconds of the event's time.
func (w *Writer) Write(ev event.Event) error {
	if w.err != nil {
		return w.err
	}
	if w.batch != nil {
		ev.Seen = ev.Seen.Truncate(time.Microsecond)
	}
	if err := check(ev); err != nil {
		return fmt.Errorf("write recording %s: %w", w.name, err)
	}
	if w.batch != nil && w.batch.add(ev) {
		return nil
	}
	w.writeBatch()
	w.encode(lineOf(ev))
	if w.batch != nil {
		w.batch.note(ev)
	}
	return w.err
}

// writeBatch writes the collected renewals as one line.
func (w *Writer) writeBatch() {
	if w.batch == nil || w.batch.size == 0 || w.err != nil {
		return
	}
	if _, err := w.out.Write(w.batch.line()); err != nil {
		w.fail(err)
	}
}

// encode writes a value as a line.
func (w *Writer) encode(value any) {
	if w.err != nil {
		return
	}
	if err := w.json.Encode(value); err != nil {
		w.fail(err)
	}
}

// Flush writes all events to the output.
func (w *Writer) Flush() error {
	w.writeBatch()
	if w.gzip != nil && w.err == nil {
		if err := w.gzip.Flush(); err != nil {
			w.fail(err)
		}
	}
	return w.err
}

// Size returns the number of bytes that were written to the output.
func (w *Writer) Size() int64 { return w.bytes.n }

// Close completes the recording. It returns the first error of any write or flush.
func (w *Writer) Close() error {
	if errors.Is(w.err, fs.ErrClosed) {
		return nil
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

func (w *Writer) fail(err error) {
	w.err = fmt.Errorf("write recording %s: %w", w.name, stripPath(err))
}

// stripPath removes the path from a file error, because the caller adds the path.
func stripPath(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// countedBytes counts the bytes that are written to a file.
type countedBytes struct {
	to io.Writer
	n  int64
}

// Write implements io.Writer.
func (c *countedBytes) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err //nolint:wrapcheck // the Writer adds the path
}
