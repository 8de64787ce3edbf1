package main

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

const (
	// maxLines is how many lines wait at most to be written.
	maxLines = 4096
	// flushTime is what the lines that wait have at the process's end: longer than a reader takes who reads.
	flushTime = 2 * time.Second
)

// lines hands on what is written to it, line by line and in order, from a goroutine of its own: most is logged while the fold is
// locked, and a reader of the log who does not read must not hold it up. What finds no room is dropped and counted.
type lines struct {
	out io.Writer
	// tell says on out that lines were dropped, once there is room again.
	tell func(dropped int)
	// done is closed when all is written.
	done chan struct{}

	mu sync.Mutex
	// changed: something waits or was taken, or it is the end.
	changed *sync.Cond
	waiting []line
	// lost were dropped since the last line that waits, dropped since the start.
	lost    int
	dropped uint64
	closed  bool
	// writing: a line was taken and is not written yet.
	writing bool
	// patient: who writes waits for room.
	patient bool
}

// line is what is written at once, and how many before it were dropped.
type line struct {
	text []byte
	lost int
}

// newLines begins to write to out.
func newLines(out io.Writer, tell func(dropped int)) *lines {
	l := &lines{out: out, tell: tell, done: make(chan struct{})}
	l.changed = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// Write implements io.Writer; slog's handlers write each record at once. It never fails, and waits for nobody unless it is patient.
func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.patient && len(l.waiting) == maxLines && !l.closed {
		l.changed.Wait()
	}
	if len(l.waiting) == maxLines {
		l.lost++
		l.dropped++
		return len(text), nil
	}
	l.waiting = append(l.waiting, line{bytes.Clone(text), l.lost})
	l.lost = 0
	l.changed.Broadcast()
	return len(text), nil
}

// waitForRoom makes who writes wait instead of dropping, until the context ends: where nothing is served and nothing watched, the
// lines are what is wanted.
func (l *lines) waitForRoom(ctx context.Context) {
	l.setPatient(true)
	context.AfterFunc(ctx, func() { l.setPatient(false) })
}

// flush waits until all is written, if lines are what is wanted (waitForRoom), so that what is printed next comes behind them.
func (l *lines) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.patient && (len(l.waiting) > 0 || l.lost > 0 || l.writing) {
		l.changed.Wait()
	}
}

func (l *lines) setPatient(patient bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.patient = patient
	l.changed.Broadcast()
}

// droppedSoFar is how many lines were dropped.
func (l *lines) droppedSoFar() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.dropped)
}

func (l *lines) run() {
	defer close(l.done)
	for {
		next, ok := l.take()
		if !ok {
			return
		}
		if next.lost > 0 {
			l.tell(next.lost)
		}
		if len(next.text) > 0 {
			_, _ = l.out.Write(next.text) // there is no other place to say it
		}
	}
}

// take takes the next line. What was dropped behind the last one comes when that is written.
func (l *lines) take() (line, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing = false
	l.changed.Broadcast()
	for len(l.waiting) == 0 && l.lost == 0 && !l.closed {
		l.changed.Wait()
	}
	l.writing = true
	switch {
	case len(l.waiting) > 0:
		next := l.waiting[0]
		l.waiting[0] = line{} // the text is not kept longer
		l.waiting = l.waiting[1:]
		l.changed.Broadcast()
		return next, true
	case l.lost > 0:
		next := line{lost: l.lost}
		l.lost = 0
		return next, true
	}
	return line{}, false
}

// close waits until all is written, but not for long. What comes afterwards may be written or not.
func (l *lines) close() {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	limit := time.NewTimer(flushTime)
	defer limit.Stop()
	select {
	case <-l.done:
	case <-limit.C:
	}
}
