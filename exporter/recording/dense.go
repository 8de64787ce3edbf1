package recording

import (
	"io"

	"github.com/kubeflap/kubeflap/exporter/recording/renewals"
)

// dense is the state of a Writer that writes several Lease renewals per line.
type dense struct {
	leases *renewals.Leases
	batch  *renewals.Batch
}

func newDense() *dense {
	leases := &renewals.Leases{}
	return &dense{leases, renewals.NewBatch(leases)}
}

// writeBatch writes the collected renewals as one line.
func (w *Writer) writeBatch() {
	if w.dense == nil || w.dense.batch.Empty() {
		return
	}
	text, err := w.dense.batch.Line()
	if err != nil {
		w.fail(err)
		return
	}
	w.write(text)
}

// Size returns the current size of the file in bytes. It does not include data that is still in the compressor.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bytes.n
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
