package main

import (
	"bytes"
	"io"
	"sync/atomic"
	"time"
)

const (
	// maxQueuedLines is the maximum number of lines in the queue.
	maxQueuedLines = 4096
	// flushTimeout is the maximum time to write the queue when it is closed.
	flushTimeout = 2 * time.Second
)

// logQueue writes log lines in order, in a separate goroutine. A slow or blocked reader of the log thus cannot block
// events or scrapes. Lines that do not fit into the queue are dropped and counted.
type logQueue struct {
	out io.Writer
	// onDropped writes the number of dropped lines to `out`.
	onDropped func(lines int)
	dropped   atomic.Int64  // since onDropped was last called
	queue     chan []byte   // nil ends the queue
	written   chan struct{} // closed when all lines are written
}

// newLogQueue returns a queue that writes to `out`. Call close to end it.
func newLogQueue(out io.Writer, onDropped func(lines int)) *logQueue {
	q := &logQueue{out: out, onDropped: onDropped, queue: make(chan []byte, maxQueuedLines), written: make(chan struct{})}
	go q.run()
	return q
}

// Write implements io.Writer. It only fails after close. Handlers of package slog call it once per record.
func (q *logQueue) Write(text []byte) (int, error) {
	select {
	case <-q.written:
		return q.out.Write(text) //nolint:wrapcheck // the queue is only a buffer
	default:
	}
	select {
	case q.queue <- bytes.Clone(text):
	default:
		q.dropped.Add(1)
	}
	return len(text), nil
}

// close waits until all lines are written, but at most flushTimeout. Afterwards, Write no longer uses the queue: it waits
// for the reader of the log.
func (q *logQueue) close() {
	limit := time.After(flushTimeout)
	select {
	case q.queue <- nil:
	case <-q.written:
	case <-limit:
		return
	}
	select {
	case <-q.written:
	case <-limit:
	}
}

// run writes lines until the queue is closed and empty.
func (q *logQueue) run() {
	defer close(q.written)
	for text := range q.queue {
		if text != nil {
			_, _ = q.out.Write(text) // a failed log write cannot be logged
		}
		if len(q.queue) == 0 {
			if dropped := q.dropped.Swap(0); dropped > 0 {
				q.onDropped(int(dropped))
			}
		}
		if text == nil {
			return
		}
	}
}
