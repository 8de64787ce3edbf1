package main

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

const (
	// maxQueuedLines is the maximum number of lines in the queue.
	maxQueuedLines = 4096
	// flushTimeout is the maximum time to write the queue before the process exits.
	flushTimeout = 2 * time.Second
)

// logQueue writes log lines in order, in a separate goroutine. A slow or blocked reader of the log thus cannot block
// events or scrapes. Lines that do not fit into the queue are dropped and counted.
type logQueue struct {
	out io.Writer
	// onDropped writes the number of dropped lines to `out`.
	onDropped func(lines int)
	// `done` is closed when the goroutine ends.
	done chan struct{}

	mu sync.Mutex
	// `changed` is signaled when one of the following fields changes.
	changed *sync.Cond
	queue   []logLine
	// `gap` is the number of lines dropped since a line was last added to the queue. `dropped` is the total number of
	// dropped lines.
	gap     int
	dropped uint64
	closed  bool
	// `writing` is set while a line is being written to `out`.
	writing bool
	// `blocking` is set if Write waits for space instead of dropping lines.
	blocking bool
}

// logLine is the text of one Write. `gap` is the number of lines dropped before this line.
type logLine struct {
	text []byte
	gap  int
}

// newLogQueue returns a queue that writes to `out`. Call close to end it.
func newLogQueue(out io.Writer, onDropped func(lines int)) *logQueue {
	q := &logQueue{out: out, onDropped: onDropped, done: make(chan struct{})}
	q.changed = sync.NewCond(&q.mu)
	go q.run()
	return q
}

// Write implements io.Writer. It never fails. Handlers of package slog call it once per record.
func (q *logQueue) Write(text []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.blocking && len(q.queue) == maxQueuedLines && !q.closed {
		q.changed.Wait()
	}
	if len(q.queue) == maxQueuedLines {
		q.gap++
		q.dropped++
		return len(text), nil
	}
	q.queue = append(q.queue, logLine{bytes.Clone(text), q.gap})
	q.gap = 0
	q.changed.Broadcast()
	return len(text), nil
}

// block makes Write wait for space instead of dropping lines. It has this effect until ctx is canceled. Commands that
// serve or watch do not call block, because a blocked log would block them.
func (q *logQueue) block(ctx context.Context) {
	q.setBlocking(true)
	context.AfterFunc(ctx, func() { q.setBlocking(false) })
}

func (q *logQueue) setBlocking(blocking bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.blocking = blocking
	q.changed.Broadcast()
}

// flush waits until all lines are written. It returns immediately if `blocking` is not set.
func (q *logQueue) flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.blocking && (len(q.queue) > 0 || q.gap > 0 || q.writing) {
		q.changed.Wait()
	}
}

func (q *logQueue) droppedLines() float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return float64(q.dropped)
}

func (q *logQueue) run() {
	defer close(q.done)
	for {
		next, ok := q.take()
		if !ok {
			return
		}
		if next.gap > 0 {
			q.onDropped(next.gap)
		}
		if len(next.text) > 0 {
			_, _ = q.out.Write(next.text) // a failed log write cannot be logged
		}
	}
}

// take waits for the next line. If the queue is empty but lines were dropped, the result contains only the number of
// dropped lines. take returns false when the queue is closed and empty.
func (q *logQueue) take() (logLine, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.writing = false
	q.changed.Broadcast()
	for len(q.queue) == 0 && q.gap == 0 && !q.closed {
		q.changed.Wait()
	}
	q.writing = true
	switch {
	case len(q.queue) > 0:
		next := q.queue[0]
		q.queue[0] = logLine{} // release the text
		q.queue = q.queue[1:]
		q.changed.Broadcast()
		return next, true
	case q.gap > 0:
		next := logLine{gap: q.gap}
		q.gap = 0
		return next, true
	}
	return logLine{}, false
}

// close waits until all lines are written, but at most flushTimeout. Lines that are logged afterwards may be lost.
func (q *logQueue) close() {
	q.mu.Lock()
	q.closed = true
	q.changed.Broadcast()
	q.mu.Unlock()
	limit := time.NewTimer(flushTimeout)
	defer limit.Stop()
	select {
	case <-q.done:
	case <-limit.C:
	}
}
