package proxy

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"
)

// stream is the response body of a watch. It reads the API server's data immediately, so that the API server sees a
// fast client. Faults delay only the data on its way to the client.
type stream struct {
	ctx    context.Context
	cancel context.CancelFunc
	server io.ReadCloser
	watch  *clientWatch

	mu    sync.Mutex
	queue []piece
	// more contains a value if the queue may contain data.
	more chan struct{}
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
	s := &stream{server: server, watch: watch, more: make(chan struct{}, 1)}
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
	s.mu.Lock()
	s.queue = append(s.queue, p)
	s.mu.Unlock()
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Read waits until the faults allow data to pass, and returns the data.
func (s *stream) Read(into []byte) (int, error) {
	for len(s.rest.data) == 0 {
		if s.rest.err != nil {
			return 0, s.rest.err
		}
		next, err := s.next()
		if err != nil {
			return 0, err
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

// next waits for the next piece of data from the API server.
func (s *stream) next() (piece, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			p := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return p, nil
		}
		s.mu.Unlock()
		select {
		case <-s.ctx.Done():
			return piece{}, s.ctx.Err()
		case <-s.more:
		}
	}
}

// Close closes the connection to the API server.
func (s *stream) Close() error {
	s.cancel()
	return s.server.Close()
}
