package main

import (
	"io"
	"sync"
	"time"
)

const (
	// maxQueuedLines is the maximum number of lines in the queue.
	maxQueuedLines = 4096
	// maxKeptText is the size up to which the memory of the queue is reused.
	maxKeptText = 64 << 10
	// flushTimeout is the maximum time to write the queue when it is closed.
	flushTimeout = 2 * time.Second
)

// logQueue writes log lines in order, in a separate goroutine. A slow or blocked reader of the log thus cannot block
// events or scrapes. Lines that do not fit into the queue are dropped and counted.
type logQueue struct {
	out io.Writer
	// onDropped writes the number of dropped lines to `out`.
	onDropped func(lines int)
	wake      chan struct{} // closed to end the queue
	written   chan struct{} // closed when all lines are written

	mu     sync.Mutex
	queued queuedLines
	closed bool
}

// queuedLines holds the lines that follow those being written. A single write for all of them takes less CPU time.
type queuedLines struct {
	text []byte
	// lines is the number of lines. `dropped` is the number of lines that did not fit.
	lines, dropped int
}

// newLogQueue returns a queue that writes to `out`. Call close to end it.
func newLogQueue(out io.Writer, onDropped func(lines int)) *logQueue {
	q := &logQueue{out: out, onDropped: onDropped, wake: make(chan struct{}, 1), written: make(chan struct{})}
	go q.run()
	return q
}

// Write implements io.Writer. It only fails after close. Handlers of package slog call it once per record.
func (q *logQueue) Write(text []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return q.out.Write(text) //nolint:wrapcheck // the queue is only a buffer
	}
	if q.queued.lines == maxQueuedLines {
		q.queued.dropped++
		return len(text), nil
	}
	q.queued.text = append(q.queued.text, text...)
	q.queued.lines++
	select {
	case q.wake <- struct{}{}:
	default: // run will see this line
	}
	return len(text), nil
}

// close waits until all lines are written, but at most flushTimeout. Afterwards, Write no longer uses the queue: it waits
// for the reader of the log.
func (q *logQueue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.wake)
	}
	q.mu.Unlock()
	select {
	case <-q.written:
	case <-time.After(flushTimeout):
	}
}

// run writes lines until the queue is closed and empty.
func (q *logQueue) run() {
	defer close(q.written)
	var now queuedLines
	for range q.wake {
		if cap(now.text) > maxKeptText {
			now.text = nil
		}
		q.mu.Lock()
		now, q.queued = q.queued, queuedLines{text: now.text[:0]}
		q.mu.Unlock()
		_, _ = q.out.Write(now.text) // a failed log write cannot be logged
		if now.dropped > 0 {
			q.onDropped(now.dropped)
		}
	}
}
