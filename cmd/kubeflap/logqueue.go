package main

import (
	"bytes"
	"context"
	"io"
	"sync"
	"sync/atomic"
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
	queue     chan logLine
	dropped   atomic.Uint64
	// interrupted ends the waiting of Write. It is nil if Write does not wait for space.
	interrupted <-chan struct{}
	closed      chan struct{}
	close       func()
}

// logLine is the text of one Write, or a mark with the channel `written`, which is closed when all lines before the mark
// are written. `dropped` is the number of all lines that were dropped before.
type logLine struct {
	text    []byte
	dropped uint64
	written chan struct{}
}

// newLogQueue returns a queue that writes to `out`. Call close to end it. It waits until all lines are written, but at
// most flushTimeout. Lines that are logged afterwards may be lost.
func newLogQueue(out io.Writer, onDropped func(lines int)) *logQueue {
	q := &logQueue{out: out, onDropped: onDropped, queue: make(chan logLine, maxQueuedLines), closed: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.run()
	}()
	q.close = sync.OnceFunc(func() {
		close(q.closed)
		select {
		case <-done:
		case <-time.After(flushTimeout):
		}
	})
	return q
}

// Write implements io.Writer. It never fails. Handlers of package slog call it once per record.
func (q *logQueue) Write(text []byte) (int, error) {
	q.add(logLine{text: bytes.Clone(text), dropped: q.dropped.Load()})
	return len(text), nil
}

func (q *logQueue) add(l logLine) {
	if q.interrupted != nil {
		select {
		case q.queue <- l:
			return
		case <-q.interrupted:
		}
	}
	select {
	case q.queue <- l:
	default:
		q.dropped.Add(1)
	}
}

// block makes Write wait for space instead of dropping lines, until ctx is canceled. Call it before the first Write.
// Commands that serve or watch do not call block, because a blocked log would block them.
func (q *logQueue) block(ctx context.Context) { q.interrupted = ctx.Done() }

// flush waits until all lines are written. It returns immediately if Write does not wait for space.
func (q *logQueue) flush() {
	if q.interrupted == nil {
		return
	}
	written := make(chan struct{})
	q.add(logLine{dropped: q.dropped.Load(), written: written})
	select {
	case <-written:
	case <-q.interrupted:
	}
}

func (q *logQueue) droppedLines() float64 { return float64(q.dropped.Load()) }

// run writes lines until the queue is closed and empty.
func (q *logQueue) run() {
	var reported uint64
	report := func(dropped uint64) {
		if dropped > reported {
			q.onDropped(int(dropped - reported)) //nolint:gosec // far below 1<<63
			reported = dropped
		}
	}
	for {
		var l logLine
		select {
		case l = <-q.queue:
		default:
			report(q.dropped.Load())
			select {
			case l = <-q.queue:
			case <-q.closed:
				if len(q.queue) > 0 {
					continue
				}
				return
			}
		}
		report(l.dropped)
		if l.written != nil {
			close(l.written)
			continue
		}
		_, _ = q.out.Write(l.text) // a failed log write cannot be logged
	}
}
