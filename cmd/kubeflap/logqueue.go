package main

import (
	"bytes"
	"io"
	"sync"
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
	queue     chan logLine
	written   chan struct{} // closed when all lines are written

	mu      sync.Mutex
	dropped int
	closed  bool
}

// logLine is the text of one Write. `dropped` is the number of all lines that were dropped before.
type logLine struct {
	text    []byte
	dropped int
}

// newLogQueue returns a queue that writes to `out`. Call close to end it.
func newLogQueue(out io.Writer, onDropped func(lines int)) *logQueue {
	q := &logQueue{out: out, onDropped: onDropped, queue: make(chan logLine, maxQueuedLines), written: make(chan struct{})}
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
	select {
	case q.queue <- logLine{bytes.Clone(text), q.dropped}:
	default:
		q.dropped++
	}
	return len(text), nil
}

// close waits until all lines are written, but at most flushTimeout. Afterwards, Write no longer uses the queue: it waits
// for the reader of the log.
func (q *logQueue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.queue)
	}
	q.mu.Unlock()
	select {
	case <-q.written:
	case <-time.After(flushTimeout):
	}
}

func (q *logQueue) droppedLines() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.dropped
}

// run writes lines until the queue is closed and empty.
func (q *logQueue) run() {
	defer close(q.written)
	reported := 0
	report := func(dropped int) {
		if dropped > reported {
			q.onDropped(dropped - reported)
			reported = dropped
		}
	}
	for l := range q.queue {
		report(l.dropped)
		_, _ = q.out.Write(l.text) // a failed log write cannot be logged
	}
	report(q.droppedLines())
}
