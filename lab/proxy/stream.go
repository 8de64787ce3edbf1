package proxy

import (
	"bytes"
	"context"
	"io"
	"time"
)

// queued is the number of pieces of data that can wait for the client. It exceeds what the API server sends during a
// fault.
const queued = 10_000

// stream is the response body of a watch. It reads the API server's data immediately, so that the API server sees a
// fast client. Faults delay only the data on its way to the client.
type stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	server io.ReadCloser
	watch  *clientWatch
	queue  chan piece
	// rest is the part of a piece that the client has not read yet.
	rest piece
}

// piece is the result of one read from the server.
type piece struct {
	arrived time.Time
	data    []byte
	err     error
}

func newStream(ctx context.Context, server io.ReadCloser, watch *clientWatch) *stream {
	s := &stream{server: server, watch: watch, queue: make(chan piece, queued)}
	s.ctx, s.cancel = context.WithCancel(ctx)
	go s.takeIn()
	// End the watch as soon as it must end, even if no event arrives.
	go func() {
		if watch.until(s.ctx, watch.over) == nil {
			s.add(piece{err: io.EOF})
		}
	}()
	return s
}

func (s *stream) takeIn() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := s.server.Read(buffer)
		s.add(piece{time.Now(), bytes.Clone(buffer[:n]), err})
		if err != nil {
			return
		}
	}
}

func (s *stream) add(p piece) {
	select {
	case s.queue <- p:
	case <-s.ctx.Done():
	}
}

// Read waits until the faults allow data to pass, and returns the data.
func (s *stream) Read(into []byte) (int, error) {
	for len(s.rest.data) == 0 {
		if s.rest.err != nil {
			return 0, s.rest.err
		}
		var next piece
		select {
		case next = <-s.queue:
		case <-s.ctx.Done():
			return 0, s.ctx.Err()
		}
		over, err := s.watch.pass(s.ctx, next.arrived)
		if err != nil {
			return 0, err
		}
		if over {
			next = piece{err: io.EOF}
		}
		s.rest = next
	}
	n := copy(into, s.rest.data)
	s.rest.data = s.rest.data[n:]
	return n, nil
}

// Close closes the connection to the API server.
func (s *stream) Close() error {
	s.cancel()
	return s.server.Close()
}
