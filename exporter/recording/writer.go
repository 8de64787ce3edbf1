package recording

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// compression is the gzip level. The default level needs a third more CPU time. It saves a fifth of the space if many
// pods change, and 5 % if most events are heartbeats.
const compression = gzip.BestSpeed

// bufferSize is the number of bytes that are written to a file at once, if so many are there. The compressor itself
// writes at most 240 bytes at once.
const bufferSize = 16 << 10

// Writer writes a recording. Only one goroutine may use it.
type Writer struct {
	file *os.File // file is nil if the caller closes the output
	// buffer writes to the output. After an error, it writes nothing, because no reader can continue after an incomplete line.
	buffer *bufio.Writer
	gzip   *gzip.Writer // gzip writes to buffer. It is nil if the recording is not compressed
	// text is the line that is being written. The memory is reused.
	text []byte
	// batch combines several Lease renewals in one line, if the recording is compressed. Otherwise, each event has its own
	// line.
	batch batch
	// anonymiser is nil if names are not replaced.
	anonymiser *anonymiser
}

// Create creates a file and starts a recording in it. The recording is compressed if the name ends in .gz. Create
// returns fs.ErrExist if the file exists.
func Create(path string, header Header) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("recording %s already exists and is not overwritten: %w", path, fs.ErrExist)
	}
	if err != nil {
		return nil, fmt.Errorf("create a recording: %w", err)
	}
	w, err := NewWriter(file, header, strings.HasSuffix(path, ".gz"))
	if err != nil {
		_, _ = file.Close(), os.Remove(path) // so that the name can be used again
		return nil, err
	}
	w.file = file
	return w, nil
}

// NewWriter starts a recording on `out`. Close does not close `out`. NewWriter writes the header, so that the output is a
// valid recording even without events.
func NewWriter(out io.Writer, header Header, compress bool) (*Writer, error) {
	w := &Writer{buffer: bufio.NewWriterSize(out, bufferSize)}
	if compress {
		w.gzip, _ = gzip.NewWriterLevel(w.buffer, compression) // the level is valid
	}
	if header.Anonymised {
		w.anonymiser = newAnonymiser()
		header = w.anonymiser.Header(header)
	}
	header.Recorded = header.Recorded.UTC()
	line, err := appendJSON(nil, firstLine{format{kubeflapRecording, Version}, header})
	if err != nil {
		return nil, failed(err)
	}
	return w, cmp.Or(w.write(append(line, '\n')), w.Flush())
}

// WriteAll adds events until one of them is an error.
func (w *Writer) WriteAll(events iter.Seq2[event.Event, error]) error {
	for ev, err := range events {
		if err == nil {
			err = w.Write(ev)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes a line.
func (w *Writer) write(line []byte) (err error) {
	if w.gzip != nil {
		_, err = w.gzip.Write(line)
	} else if _, err = w.buffer.Write(line); err == nil {
		err = w.buffer.Flush()
	}
	return failed(err)
}

// Write adds an event. An uncompressed recording contains the event when Write returns, and a compressed one after the
// next call of Flush. A compressed recording only has the microseconds of the event's time.
func (w *Writer) Write(ev event.Event) error {
	if w.anonymiser != nil {
		ev = w.anonymiser.Event(ev)
	}
	if w.gzip != nil {
		ev.Seen = ev.Seen.Truncate(time.Microsecond)
	}
	if err := check(ev); err != nil {
		return failed(err)
	}
	if w.gzip != nil && w.batch.add(ev) {
		return nil
	}
	if err := w.writeBatch(); err != nil {
		return err
	}
	w.batch.note(ev)
	w.text = appendEvent(w.text[:0], ev)
	return w.write(w.text)
}

// writeBatch writes the collected renewals as one line.
func (w *Writer) writeBatch() error {
	if w.batch.entries == 0 {
		return nil
	}
	w.text = w.batch.take(w.text[:0])
	return w.write(w.text)
}

// Flush writes all events to the output.
func (w *Writer) Flush() error {
	err := w.writeBatch()
	if w.gzip != nil {
		err = cmp.Or(err, failed(w.gzip.Flush()))
	}
	return cmp.Or(err, failed(w.buffer.Flush()))
}

// Close completes the recording. It returns the first error of any write or flush.
func (w *Writer) Close() error {
	err := w.writeBatch()
	if w.gzip != nil {
		err = cmp.Or(err, failed(w.gzip.Close()))
	}
	err = cmp.Or(err, failed(w.buffer.Flush()))
	if w.file != nil {
		err = cmp.Or(err, failed(w.file.Close()))
	}
	return err
}

func failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write a recording: %w", err)
}
