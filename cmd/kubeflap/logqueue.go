package main

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

const (
	// maxQueuedLines bounds the lines that wait to be written.
	maxQueuedLines = 4096
	// flushTimeout is how long the process waits at its end for the queue to be written.
	flushTimeout = 2 * time.Second
)

// logQueue writes log lines in order, from a goroutine of its own: whoever reads the log slowly, or not at all, must hold up neither
// events nor scrapes. A line that finds the queue full is dropped and counted.
type logQueue struct {
	out io.Writer
	// onDropped writes to out how many lines are missing at this place.
	onDropped func(lines int)
	// done is closed when the goroutine has ended.
	done chan struct{}

	mu sync.Mutex
	// changed is signalled when any field below changes.
	changed *sync.Cond
	queue   []logLine
	// gap is how many lines were dropped behind the last one in the queue, dropped how many ever.
	gap     int
	dropped uint64
	closed  bool
	// writing says that a line was taken from the queue and is not written yet.
	writing bool
	// blocking makes Write wait for room instead of dropping lines.
	blocking bool
}

// logLine is one call of Write, and how many lines before it were dropped.
type logLine struct {
	text []byte
	gap  int
}

// newLogQueue starts to write to out.
func newLogQueue(out io.Writer, onDropped func(lines int)) *logQueue {
	q := &logQueue{out: out, onDropped: onDropped, done: make(chan struct{})}
	q.changed = sync.NewCond(&q.mu)
	go q.run()
	return q
}

// Write implements io.Writer. It never fails; slog's handlers call it once a record.
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

// block makes Write wait for room until ctx ends. Use it where nothing is served or watched, and the complete log is wanted.
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

// flush waits, while the queue is blocking, until every line is written: what is printed next comes behind them.
func (q *logQueue) flush() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.blocking && (len(q.queue) > 0 || q.gap > 0 || q.writing) {
		q.changed.Wait()
	}
}

// droppedLines is how many lines were dropped since the start.
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
			_, _ = q.out.Write(next.text) // an error could only be logged
		}
	}
}

// take waits for the next line, or for a gap behind the last one. It returns false when the queue is closed and empty.
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
		q.queue[0] = logLine{} // let the text be collected
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

// close waits until every line is written, at most for flushTimeout. A line that is logged later may be lost.
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
